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
        sum += work(i, now);
        if (said != now && i % 1000 == 0) {
            said = now;
            printf("%d\n", now);
            fflush(stdout);
        }
    }
    return sum == 1 ? 3 : 0;
}
