/* Signals that are ignored, by default or on demand, end no system call: not even one that gives EINTR for any other signal.
 * A tracer sees them all the same, and has to have such a call made again. */
#include "torture.h"
#include <signal.h>
#include <sys/epoll.h>
#include <time.h>

/* Waits while a child sends us a signal, or ends. */
static int woken_by(int signal)
{
    struct epoll_event event;
    int waits = epoll_create1(0), status;
    CHECK(waits >= 0);
    pid_t parent = getpid(), child = fork();
    if (!child) {
        usleep(20000);
        if (signal) kill(parent, signal);
        _exit(0);
    }
    int woken = epoll_wait(waits, &event, 1, 100);
    int why = errno;
    CHECK(waitpid(child, &status, 0) == child && !close(waits));
    return woken < 0 ? why : 0;
}

/* Waits for the tenth of a second while ignored signals come for ten times as long. */
static void waits_no_longer(int (*wait_for_nothing)(void), int ends_with)
{
    int status;
    pid_t parent = getpid(), child = fork();
    if (!child) {
        for (int i = 0; i < 50; i++) {
            usleep(20000);
            kill(parent, SIGURG);
        }
        _exit(0);
    }
    CHECK((wait_for_nothing() < 0 ? errno : 0) == ends_with);
    CHECK(waitpid(child, &status, WNOHANG) == 0);
    CHECK(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child);
}

static int for_events(void)
{
    struct epoll_event event;
    int waits = epoll_create1(0);
    return epoll_wait(waits, &event, 1, 100) | close(waits);
}

static int for_a_signal(void)
{
    sigset_t none;
    CHECK(!sigemptyset(&none));
    return sigtimedwait(&none, 0, &(struct timespec){0, 100000000});
}

static void handler(int signal) { (void)signal; }

int main(void)
{
    CHECK(woken_by(0) == 0);
    CHECK(woken_by(SIGWINCH) == 0);
    CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR && woken_by(SIGUSR1) == 0);
    waits_no_longer(for_events, 0);
    waits_no_longer(for_a_signal, EAGAIN);
    /* One that has a handler does, whatever is asked for. */
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    CHECK(!sigaction(SIGUSR2, &action, 0) && woken_by(SIGUSR2) == EINTR);
    return passed();
}
