/* Threads that block all signals from their start, as the workers of libraries do. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

static void *work(void *seed)
{
    uint64_t x = (uintptr_t)seed + 1;
    for (long i = 0; i < 400000000; i++) {
        if (x & 1)
            x ^= 0x9e3779b97f4a7c15;
        x = x >> 1 | x << 63;
    }
    return (void *)(uintptr_t)x;
}

int main(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, 0);
    pthread_t threads[2];
    uintptr_t sum = 0;
    for (uintptr_t i = 0; i < 2; i++)
        pthread_create(threads + i, 0, work, (void *)i);
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (uintptr_t)result;
    }
    return printf("%#lx\n", (unsigned long)sum) < 0;
}
