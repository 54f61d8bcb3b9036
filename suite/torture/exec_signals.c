/* Signals that arrive while a process executes a program: none may be lost, and all programs must be counted. */
#include "torture.h"
#include <signal.h>
#include <sys/time.h>

int main(int argc, char **argv)
{
    if (argc > 2) {
        /* Waits for the signal that the timer sends once; natively it always comes. */
        sigset_t wait_for;
        sigemptyset(&wait_for);
        sigaddset(&wait_for, SIGALRM);
        struct timespec long_time = {20, 0};
        return sigtimedwait(&wait_for, 0, &long_time) == SIGALRM ? 7 : 8;
    }
    for (int round = 0; round < 40; round++) {
        pid_t child = fork();
        if (!child) {
            sigset_t blocked;
            sigemptyset(&blocked);
            sigaddset(&blocked, SIGALRM);
            /* Half of them arrive blocked, half are ignored. */
            if (round % 2) {
                CHECK(!sigprocmask(SIG_BLOCK, &blocked, 0));
                struct itimerval once = {{0, 0}, {0, 200 + 40 * round}};
                CHECK(!setitimer(ITIMER_REAL, &once, 0));
                execl("/proc/self/exe", argv[0], "waits", "for it", (char *)0);
            } else {
                signal(SIGALRM, SIG_IGN);
                struct itimerval often = {{0, 50}, {0, 50}};
                CHECK(!setitimer(ITIMER_REAL, &often, 0));
                execl("/bin/true", "true", (char *)0);
            }
            _exit(97);
        }
        CHECK(ended(child) == (round % 2 ? 7 : 0));
    }
    /* One that ends the program at once, on its way into a new one. */
    for (int round = 0; round < 20; round++) {
        pid_t child = fork();
        if (!child) {
            struct itimerval once = {{0, 0}, {0, 100 + 100 * round}};
            CHECK(!setitimer(ITIMER_REAL, &once, 0));
            execl("/bin/sleep", "sleep", "30", (char *)0);
            _exit(97);
        }
        CHECK(ended(child) == 1000 + SIGALRM);
    }
    return passed();
}
