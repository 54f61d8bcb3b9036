/* 64 threads at once, each busy for 50 milliseconds of its own CPU time; none ends before all have been. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
enum { THREADS = 64 };
static pthread_barrier_t all;

static void *work(void *argument)
{
    struct timespec now;
    volatile unsigned long sum = (unsigned long)argument;
    do {
        for (int i = 0; i < 100000; i++)
            sum += i & 7 ? i : 1;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec == 0 && now.tv_nsec < 50000000);
    pthread_barrier_wait(&all);
    return 0;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&all, 0, THREADS);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], 0, work, (void *)i))
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    puts("all");
    return 0;
}
