/* Waiting for a signal that may come just before the wait: sigsuspend, ppoll and pselect unblock and wait
 * in one step, so no round may hang. Two processes play ping-pong. */
#include "torture.h"
#include <poll.h>
#include <signal.h>
#include <sys/select.h>

static volatile sig_atomic_t got;
static void handler(int signal) { (void)signal; got++; }

static void wait_once(int how, const sigset_t *open)
{
    while (!got) {
        if (how == 0) CHECK(sigsuspend(open) == -1 && errno == EINTR);
        if (how == 1) CHECK(ppoll(0, 0, 0, open) == -1 && errno == EINTR);
        if (how == 2) CHECK(pselect(0, 0, 0, 0, 0, open) == -1 && errno == EINTR);
    }
    got--;
}

int main(void)
{
    sigset_t blocked, open;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    signal(SIGUSR1, handler);
    CHECK(!sigprocmask(SIG_BLOCK, &blocked, &open));
    pid_t child = fork();
    if (!child) {
        for (int i = 0; i < 3000; i++) {
            wait_once(i % 3, &open);
            kill(getppid(), SIGUSR1);
        }
        _exit(9);
    }
    for (int i = 0; i < 3000; i++) {
        kill(child, SIGUSR1);
        wait_once((i / 3) % 3, &open);
    }
    CHECK(ended(child) == 9);
    return passed();
}
