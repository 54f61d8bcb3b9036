/* Ways in which paths end and begin: recursion, long jumps, signals and their handlers, threads, tail calls, an
   indirect branch, and calls that do not return. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf landing;
static sigjmp_buf safe;
static volatile int handled;

__attribute__((noinline)) static int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__attribute__((noinline)) static void dive(int depth) {
    if (depth == 0)
        longjmp(landing, 1);
    dive(depth - 1);
    handled += 1000; /* never */
}

__attribute__((noinline)) static int jump(int depth) {
    volatile int tried = 0;
    if (setjmp(landing))
        return tried;
    tried++;
    dive(depth);
    return -1;
}

static void count_signal(int number) {
    (void)number;
    for (int i = 0; i < 3; i++)
        handled += i & 1;
}

static void leave_handler(int number) {
    (void)number;
    siglongjmp(safe, 1);
}

__attribute__((noinline)) static int fault(volatile int *where) {
    if (sigsetjmp(safe, 1))
        return 1;
    return *where;
}

__attribute__((noinline)) static int dispatch(int kind, int value) {
    switch (kind) {
    case 0: return value + 1;
    case 1: return value * 3;
    case 2: return value ^ 5;
    case 3: return value - 7;
    case 4: return value << 1;
    case 5: return value | 8;
    case 6: return value % 11;
    default: return 0;
    }
}

__attribute__((noinline)) static int odd(unsigned n);
__attribute__((noinline)) static int even(unsigned n) { return n == 0 ? 1 : odd(n - 1); }
static int odd(unsigned n) { return n == 0 ? 0 : even(n - 1); }

static void *work(void *argument) {
    long sum = 0;
    for (int i = 0; i < 2000; i++)
        sum += dispatch((i * 7) % 9, i) + (i % 3 ? 1 : fibonacci(i % 6));
    return (void *)(sum + (long)argument);
}

__attribute__((noinline, noreturn)) static void finish(int status) {
    fflush(stdout);
    exit(status);
}

int main(void) {
    long sum = 0;
    struct sigaction action = {.sa_handler = count_signal};
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = leave_handler;
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < 20; i++) {
        sum += fibonacci(i % 12) + jump(i % 5) + even(i);
        raise(SIGUSR1);
        sum += fault(NULL);
    }
    for (long i = 0; i < 3; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, work, (void *)i);
        pthread_join(thread, &result);
        sum += (long)result;
    }
    printf("%ld %d\n", sum, handled);
    finish(0);
}
