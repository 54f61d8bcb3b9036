// Many threads that mostly wait, so often each, and then the CPU time that all used, in hundredths of a second.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int rounds;

static void *nap(void *unused) {
    (void)unused;
    for (int i = 0; i < rounds; i++) {
        struct timespec pause = {0, 50000000};
        nanosleep(&pause, 0);
        for (volatile int n = 0; n < 2000; n++)
            ;
    }
    return 0;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 0;
    rounds = argc > 2 ? atoi(argv[2]) : 0;
    pthread_t *threads = calloc(count, sizeof *threads);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], &attributes, nap, 0))
            return 77;
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], 0);
    printf("%ld\n", (long)clock() / (CLOCKS_PER_SEC / 100));
    return 0;
}
