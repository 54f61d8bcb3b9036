/* Goes round until SIGTERM, one way through its function at first and another from SIGUSR1 on. Says when it has begun
   either. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t phase, ends;

static void next(int number) {
    (void)number;
    phase = 1;
}

static void end(int number) {
    (void)number;
    ends = 1;
}

#define ADD(number) __asm__ volatile("addl $" #number ", %0" : "+r"(sum))

__attribute__((noinline)) static int helper(int value) {
    int sum = value;
    if (value & 2)
        ADD(17);
    if (value & 4)
        ADD(19);
    return sum;
}

/* The code that is new in the second phase calls another function, which has paths of its own. */
__attribute__((noinline)) static int calls(int value, int now) {
    int sum = value;
    if (value & 1)
        ADD(3);
    if (now)
        sum += helper(value);
    if (value & 2)
        ADD(11);
    if (value & 4)
        ADD(13);
    return sum;
}

/* Once its only test has gone either way, the path is known, and may be counted there: before it goes another. */
__attribute__((noinline)) static int decided(int value, int now) {
    int sum = value;
    if (value & 1)
        ADD(3);
    if (now)
        ADD(7);
    return sum;
}

/* Both tests go the same way: of four ways through two are taken, and others in each phase. */
__attribute__((noinline)) static int work(int value, int now) {
    int sum = value;
    if (value & 1)
        ADD(3);
    else
        ADD(5);
    if (now)
        ADD(7);
    if (value & 1)
        ADD(11);
    else
        ADD(13);
    return sum;
}

int main(void) {
    int sum = 0, said = -1;
    signal(SIGUSR1, next);
    signal(SIGTERM, end);
    for (int i = 0; !ends; i++) {
        int now = phase;
        sum += work(i, now) + decided(i, now) + calls(i, now);
        if (said != now && i % 1000 == 0) {
            said = now;
            printf("%d\n", now);
            fflush(stdout);
        }
    }
    return sum == 1 ? 3 : 0;
}
