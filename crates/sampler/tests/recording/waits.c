/* Waits as its argument says: for a lock, for a pipe, or for time, 600 ms in all, in pieces of 200 ms; 500 ms for
   time and 300 ms for a lock; or, thousands of times, by turns short for a pipe and ten times as long for time.
   Of the last two it tells how long each took, in nanoseconds. Or has a child that naps for three seconds, beside
   two others that hand each other bytes as fast as they can for half of that; or, for two seconds, one thread or
   process after the other that waits for 15 ms and ends; or two threads of which one sleeps for a millisecond while
   the other waits for it, by turns. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
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

/* Holds the lock for 300 ms after somebody else has come to take it. */
static void *long_holder(void *nothing) {
    pthread_mutex_lock(&lock);
    turn = 1;
    while (turn == 1)
        usleep(100);
    usleep(300000);
    pthread_mutex_unlock(&lock);
    return nothing;
}

__attribute__((noinline)) static void wait_500_ms(void) {
    usleep(500000);
}

__attribute__((noinline)) static void wait_for_holder(void) {
    turn = 2;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

enum { TURNS = 2000 };
static int back[2];

static void *answerer(void *nothing) {
    char byte;
    while (read(ends[0], &byte, 1) == 1)
        write(back[1], &byte, 1);
    return nothing;
}

static long now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

__attribute__((noinline)) static void wait_for_answer(void) {
    char byte = 0;
    write(ends[1], &byte, 1);
    read(back[0], &byte, 1);
}

__attribute__((noinline)) static void wait_a_moment(void) {
    usleep(700);
}

static void wait_for_both(void) {
    pthread_t other;
    long begun = now();
    wait_500_ms();
    long slept = now() - begun;
    pthread_create(&other, 0, long_holder, 0);
    while (!turn)
        usleep(100);
    begun = now();
    wait_for_holder();
    printf("%ld %ld\n", slept, now() - begun);
    pthread_join(other, 0);
}

static void wait_by_turns(void) {
    long in_answer = 0, in_moment = 0;
    for (int i = 0; i < TURNS; i++) {
        long begun = now();
        wait_for_answer();
        long answered = now();
        wait_a_moment();
        in_answer += answered - begun;
        in_moment += now() - answered;
    }
    printf("%ld %ld\n", in_answer, in_moment);
}

__attribute__((noinline)) static void wait_in_child(void) {
    for (long end = now() + 3000000000L; now() < end;)
        usleep(20000);
}

static int wait_beside_switches(void) {
    if (!fork()) {
        wait_in_child();
        _exit(0);
    }
    if (pipe(ends) || pipe(back))
        return 1;
    if (!fork()) {
        close(ends[1]);
        answerer(0);
        _exit(0);
    }
    for (long end = now() + 1600000000L; now() < end;)
        wait_for_answer();
    close(ends[1]);
    while (wait(0) > 0)
        ;
    return 0;
}

__attribute__((noinline)) static void *wait_in_request(void *nothing) {
    usleep(15000);
    return nothing;
}

static void wait_in_requests(int threads) {
    for (long end = now() + 2000000000L; now() < end;) {
        pthread_t request;
        if (threads) {
            pthread_create(&request, 0, wait_in_request, 0);
            pthread_join(request, 0);
        } else if (!fork()) {
            wait_in_request(0);
            _exit(0);
        } else {
            wait(0);
        }
    }
}

enum { ROUNDS = 1000 };

__attribute__((noinline)) static void wait_asleep(void) {
    usleep(1000);
}

__attribute__((noinline)) static void wait_for_other(int end) {
    char byte;
    read(end, &byte, 1);
}

static void *second(void *nothing) {
    for (int round = 0; round < ROUNDS; round++) {
        wait_for_other(ends[0]);
        wait_asleep();
        write(back[1], "x", 1);
    }
    return nothing;
}

static void wait_alternately(void) {
    pthread_t other;
    pthread_create(&other, 0, second, 0);
    for (int round = 0; round < ROUNDS; round++) {
        wait_asleep();
        write(ends[1], "x", 1);
        wait_for_other(back[0]);
    }
    pthread_join(other, 0);
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
    } else if (!strcmp(what, "both")) {
        wait_for_both();
    } else if (!strcmp(what, "turns")) {
        if (pipe(ends) || pipe(back))
            return 1;
        pthread_create(&other, 0, answerer, 0);
        wait_by_turns();
        close(ends[1]);
        pthread_join(other, 0);
    } else if (!strcmp(what, "alternately")) {
        if (pipe(ends) || pipe(back))
            return 1;
        wait_alternately();
    } else if (!strcmp(what, "crowd")) {
        return wait_beside_switches();
    } else if (!strcmp(what, "threads") || !strcmp(what, "processes")) {
        wait_in_requests(!strcmp(what, "threads"));
    } else {
        wait_for_time();
    }
    return 0;
}
