/* Threads that run at once, recurse and jump out of that. What each function does is the same in each run. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

enum { THREADS = 4 };

__attribute__((noinline)) static long collatz(jmp_buf *landing, long value, int depth) {
    if (depth == 90)
        longjmp(*landing, 1);
    if (value == 1)
        return depth;
    return value & 1 ? collatz(landing, 3 * value + 1, depth + 1) : collatz(landing, value / 2, depth + 1);
}

__attribute__((noinline)) static long attempt(long value) {
    jmp_buf landing;
    if (setjmp(landing))
        return -1;
    return collatz(&landing, value, 0);
}

static void *work(void *argument) {
    long sum = 0;
    for (long i = 1; i < 4000; i++)
        sum += attempt(i + (long)argument);
    return (void *)sum;
}

int main(void) {
    pthread_t threads[THREADS];
    long sum = 0;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    sum += (long)work(NULL);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    printf("%ld\n", sum);
    return 0;
}
