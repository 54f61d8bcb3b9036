/* Threads that run at once, recurse and jump out of that, while a timer's signals interrupt them, whose handler
   recurses too. What each function does is the same in each run, whenever the signals come. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

enum { SIGNALS = 30, THREADS = 4 };

static int done[2];
static volatile sig_atomic_t signals;
static volatile int handled;

__attribute__((noinline)) static int descend(int depth) {
    if (depth == 0)
        return 1;
    return depth & 1 ? descend(depth - 1) + 1 : descend(depth - 1) * 2;
}

__attribute__((noinline)) static void set_timer(void) {
    struct itimerval once = {.it_value = {0, 300}};
    if (setitimer(ITIMER_REAL, &once, NULL))
        _exit(4);
}

/* Only the first thread takes signals, and each one but the last asks for the next. */
static void handle(int number) {
    (void)number;
    handled += descend(5);
    if (++signals < SIGNALS)
        set_timer();
    else if (write(done[1], "", 1) != 1)
        _exit(3);
}

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
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigset_t mask;
    pthread_t threads[THREADS];
    long sum = 0;
    char byte;
    sigemptyset(&mask);
    sigaddset(&mask, SIGALRM);
    if (pipe(done) || sigaction(SIGALRM, &action, NULL) || pthread_sigmask(SIG_BLOCK, &mask, NULL))
        return 1;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
    set_timer();
    sum += (long)work(NULL);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    if (read(done[0], &byte, 1) != 1)
        return 2;
    printf("%ld %d\n", sum, handled);
    return 0;
}
