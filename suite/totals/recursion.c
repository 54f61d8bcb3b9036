/* Recursion: fib(20) three times, which is 10,945 activations that call themselves and 10,946 that do not.
 *
 * total: fib 1116438
 * total: smallest 131352
 * call: main fib 1116438
 * call: fib fib 0
 * call: fib smallest 131352 */
#include "fib.h"

int main(void)
{
    long sum = 0;
    for (int i = 0; i < 3; i++) sum += fib(20);
    return sum != 3 * 6765;
}
