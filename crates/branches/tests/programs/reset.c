/* A library that, when it is loaded, has each signal do what it does by default. */
#include <signal.h>
__attribute__((constructor)) static void reset(void)
{
    volatile unsigned long sum = 0;
    for (int number = 1; number < 32; number++)
        signal(number, SIG_DFL);
    for (unsigned long i = 0; i < 20000000; i++)
        sum += i;
}
