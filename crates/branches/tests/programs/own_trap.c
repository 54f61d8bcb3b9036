// A program with a handler of its own for the signal by which branches are traced.
#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t traps;

static void trap(int signal) {
    (void)signal;
    traps++;
}

static volatile unsigned sum;

static void work(void) {
    for (unsigned i = 0; i < 50000000; i++)
        if (i % 3) sum += i;
}

int main(void) {
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    memset(&old, 1, sizeof old);
    action.sa_handler = trap;
    sigaction(SIGTRAP, &action, &old);
    printf("before: %d\n", old.sa_handler == SIG_DFL);
    sigaction(SIGTRAP, NULL, &old);
    printf("set: %d\n", old.sa_handler == trap);
    work();
    printf("unexpected: %d\n", (int)traps);
    raise(SIGTRAP);
    printf("raised: %d\n", (int)traps);
    work();
    raise(SIGTRAP);
    printf("again: %d\n", (int)traps);
    return 0;
}
