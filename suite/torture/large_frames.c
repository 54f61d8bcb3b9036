/* Frames of megabytes, allocated at once and touched far below the last used page; variable ones; on the
 * main stack, which grows on touch, and on a thread's.
 * build: -pthread */
#include "torture.h"
#include <alloca.h>
#include <pthread.h>

__attribute__((noinline)) static long large(long n)
{
    volatile char frame[3 << 20];
    frame[0] = n;
    frame[sizeof frame - 1] = 1;
    return frame[0] + frame[sizeof frame - 1];
}

__attribute__((noinline)) static long variable(long n)
{
    volatile char *frame = alloca(n);
    frame[0] = 1;
    frame[n - 1] = 2;
    return n > 4096 ? variable(n / 2) + frame[0] + frame[n - 1] : 0;
}

static void *both(void *unused)
{
    for (long i = 0; i < 100; i++) CHECK(large(i) == i + 1 && variable(1 << 20) == 24);
    return unused;
}

int main(void)
{
    pthread_t thread;
    both(0);
    CHECK(!pthread_create(&thread, 0, both, 0) && !pthread_join(thread, 0));
    return passed();
}
