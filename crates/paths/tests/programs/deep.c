/* Recursion so deep that more calls are open than there is room for, and back out of it, twice. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

enum { DEPTH = 700000 };

static volatile long ways[4];

__attribute__((noinline)) static long descend(long depth) {
    if (depth == 0)
        return 0;
    if (depth % 3)
        ways[0] = depth;
    else
        ways[1] = depth;
    long below = descend(depth - 1);
    if (depth % 5)
        ways[2] = depth;
    else
        ways[3] = depth;
    return below + 1;
}

static void *work(void *argument) {
    long sum = 0;
    for (int i = 0; i < 2; i++)
        sum += descend(DEPTH);
    for (int i = 0; i < 100; i++)
        sum += descend(i);
    *(long *)argument = sum;
    return NULL;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    long sum;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, 512 << 20) || pthread_create(&thread, &attributes, work, &sum))
        return 1;
    pthread_join(thread, NULL);
    printf("%ld\n", sum);
    return 0;
}
