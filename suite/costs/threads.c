/* Work divided among so many threads (1), so many pieces of it (2) in all: numbers are written as text, read again and
 * sorted. No thread ends before all have done theirs. Prints what came of all pieces, whoever did them.
 * build: -pthread */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 16 };

static long threads, pieces;
static pthread_barrier_t all;

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return a < b ? -1 : a > b;
}

static unsigned long piece(unsigned long seed)
{
    double numbers[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
        char text[64];
        seed = seed * 6364136223846793005 + 1442695040888963407;
        if (i % 2)
            snprintf(text, sizeof text, "%lu.%lu", seed >> 50, seed >> 40 & 1023);
        else
            snprintf(text, sizeof text, "%.9g", (double)(seed >> 20));
        numbers[i] = strtod(text, NULL);
    }
    qsort(numbers, LENGTH, sizeof *numbers, compare);
    return (unsigned long)numbers[seed % LENGTH];
}

static void *work(void *number)
{
    unsigned long sum = 0;
    pthread_barrier_wait(&all);
    for (long i = (long)number; i < pieces; i += threads)
        sum += piece(i);
    pthread_barrier_wait(&all);
    return (void *)sum;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    threads = atol(argv[1]);
    pieces = atol(argv[2]);
    pthread_t *others = calloc(threads, sizeof *others);
    pthread_barrier_init(&all, NULL, threads);
    for (long i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, work, (void *)i))
            return 1;
    unsigned long sum = (unsigned long)work(NULL);
    for (long i = 1; i < threads; i++) {
        void *part;
        pthread_join(others[i], &part);
        sum += (unsigned long)part;
    }
    printf("%lu\n", sum);
    return 0;
}
