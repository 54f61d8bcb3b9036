/* Waits as its argument says: for a lock, for a pipe, or for time; 600 ms in all, in pieces of 200 ms. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { PIECES = 3, PIECE_US = 200000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static volatile int turn;

static void *holder(void *nothing) {
    for (int piece = 0; piece < PIECES; piece++) {
        pthread_mutex_lock(&lock);
        turn = piece + 1;
        usleep(PIECE_US);
        pthread_mutex_unlock(&lock);
        while (turn == piece + 1)
            usleep(100);
    }
    return nothing;
}

static void *writer(void *nothing) {
    for (int piece = 0; piece < PIECES; piece++) {
        usleep(PIECE_US);
        write(ends[1], "x", 1);
    }
    return nothing;
}

__attribute__((noinline)) static void wait_for_lock(void) {
    for (int piece = 0; piece < PIECES; piece++) {
        while (turn != piece + 1)
            usleep(100);
        pthread_mutex_lock(&lock);
        turn = -1;
        pthread_mutex_unlock(&lock);
    }
}

__attribute__((noinline)) static void wait_for_pipe(void) {
    char byte;
    for (int piece = 0; piece < PIECES; piece++)
        read(ends[0], &byte, 1);
}

__attribute__((noinline)) static void wait_for_time(void) {
    for (int piece = 0; piece < PIECES; piece++)
        usleep(PIECE_US);
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "time";
    pthread_t other;
    if (!strcmp(what, "lock")) {
        pthread_create(&other, 0, holder, 0);
        wait_for_lock();
        pthread_join(other, 0);
    } else if (!strcmp(what, "pipe")) {
        if (pipe(ends))
            return 1;
        pthread_create(&other, 0, writer, 0);
        wait_for_pipe();
        pthread_join(other, 0);
    } else {
        wait_for_time();
    }
    return 0;
}
