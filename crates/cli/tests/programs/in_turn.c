// Threads, one after the other, as many as the first argument says; each does the same.
#include <pthread.h>
#include <stdlib.h>

static void *work(void *rounds) {
    for (long round = (long)rounds; round > 0; round--)
        __asm__ volatile("");
    return NULL;
}

int main(int argc, char **argv) {
    for (int left = argc > 1 ? atoi(argv[1]) : 0; left > 0; left--) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, (void *)6000))
            return 1;
        pthread_join(thread, NULL);
    }
    return 7;
}
