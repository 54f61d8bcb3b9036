/* Four threads that recurse at the same time: each has calls of its own, of which fib(22) makes 28,656 activations
 * that call themselves and 28,657 that do not.
 * build: -pthread
 *
 * total: fib 3897280
 * total: smallest 458512
 * call: body fib 3897280
 * call: fib fib 0
 * call: fib smallest 458512 */
#include "fib.h"
#include <pthread.h>

__attribute__((noinline, noclone)) static void *body(void *argument)
{
    return fib(22) == 17711 ? argument : 0;
}

int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], 0, body, 0)) return 1;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
}
