/* Threads that do nothing but call one function: eight of them 100,000 times each, or `hammer THREADS CALLS`. They share
 * nothing but its code, so that one of many has the work of one that is alone.
 * build: -pthread
 *
 * total: step 4000000
 * call: hammer step 4000000 */
#include "totals.h"
#include <pthread.h>
#include <stdlib.h>

long step(long n);

/* Five instructions. */
FUNCTION(step, ENTER "lea 1(%rdi), %rax\n" LEAVE);

static long calls = 100000;

__attribute__((noinline, noclone)) static void *hammer(void *argument)
{
    long value = 0;
    for (long i = 0; i < calls; i++) value = step(value);
    return value == calls ? argument : 0;
}

int main(int argc, char **argv)
{
    enum { MOST = 64 };
    pthread_t threads[MOST];
    int count = 8;
    if (argc > 2) count = atoi(argv[1]), calls = atol(argv[2]);
    if (count > MOST) return 2;
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], 0, hammer, threads)) return 1;
    for (int i = 0; i < count; i++) {
        void *result;
        if (pthread_join(threads[i], &result) || !result) return 1;
    }
}
