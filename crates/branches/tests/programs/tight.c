/* A tight loop that takes nearly all of the time, with another thread that does nothing. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static unsigned char bytes[4096];

__attribute__((noinline)) unsigned long tight(const unsigned char *from, long rounds)
{
    unsigned long sum = 0;
    for (long i = 0; i < rounds; i++) {
        sum += from[i & 4095];
        /* All calls are made, and the loop is done as it stands. */
        __asm__ volatile("" : "+r"(sum));
    }
    return sum;
}

static void *idle(void *unused)
{
    (void)unused;
    pause();
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, idle, NULL);
    unsigned long sum = 0;
    for (int i = 0; i < 100; i++)
        sum += tight(bytes, 1000000);
    printf("%lu\n", sum);
    return 0;
}
