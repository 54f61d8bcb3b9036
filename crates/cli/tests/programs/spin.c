/* Calls one function that calls nothing, for two to three seconds. */
#include <time.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void spin(unsigned long rounds)
{
    while (rounds--) sum += rounds;
}

int main(void)
{
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do {
        for (int i = 0; i < 8; i++) spin(200000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begun.tv_sec < 3);
    return 0;
}
