/* Masks, pending signals, waiting for them, nesting, one-shot handlers, queued values. */
#include "torture.h"
#include <signal.h>
#include <time.h>

static volatile sig_atomic_t depth, deepest, runs, order[8], queued;

static void note(int signal)
{
    if (runs < 8) order[runs] = signal;
    runs++;
}
static void nested(int signal)
{
    if (++depth > deepest) deepest = depth;
    if (runs++ < 3) raise(signal);
    depth--;
}
static void with_value(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    CHECK(info->si_code == SI_QUEUE && info->si_value.sival_int == queued && info->si_pid == getpid());
    queued++;
}

static void set(int signal, void (*handler)(int), int flags, int also)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    if (also) sigaddset(&action.sa_mask, also);
    CHECK(!sigaction(signal, &action, 0));
}

int main(void)
{
    sigset_t both, old, pending;
    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    sigaddset(&both, SIGUSR2);

    set(SIGUSR1, note, 0, 0);
    set(SIGUSR2, note, 0, 0);
    CHECK(!sigprocmask(SIG_BLOCK, &both, &old) && !sigismember(&old, SIGUSR1));
    raise(SIGUSR2);
    raise(SIGUSR1);
    raise(SIGUSR1);
    CHECK(runs == 0 && !sigpending(&pending) && sigismember(&pending, SIGUSR1) && sigismember(&pending, SIGUSR2));
    CHECK(!sigprocmask(SIG_SETMASK, &old, 0));
    CHECK(runs == 2);                                   /* both before sigprocmask returned, once each */

    CHECK(!sigprocmask(SIG_BLOCK, &both, 0));
    raise(SIGUSR1);
    int which = 0;
    CHECK(!sigwait(&both, &which) && which == SIGUSR1 && runs == 2);
    struct timespec none = {0, 1000000};
    CHECK(sigtimedwait(&both, 0, &none) == -1 && errno == EAGAIN);
    CHECK(!sigprocmask(SIG_SETMASK, &old, 0));

    set(SIGUSR1, nested, 0, 0);                         /* blocked in its own handler */
    runs = depth = deepest = 0;
    raise(SIGUSR1);
    CHECK(runs == 4 && deepest == 1);
    set(SIGUSR1, nested, SA_NODEFER, 0);                /* not blocked */
    runs = depth = deepest = 0;
    raise(SIGUSR1);
    CHECK(runs == 4 && deepest == 4);
    set(SIGUSR1, note, SA_RESETHAND, SIGUSR2);
    runs = 0;
    raise(SIGUSR1);
    struct sigaction now;
    CHECK(runs == 1 && !sigaction(SIGUSR1, 0, &now) && now.sa_handler == SIG_DFL && sigismember(&now.sa_mask, SIGUSR2));

    struct sigaction values = {.sa_sigaction = with_value, .sa_flags = SA_SIGINFO};
    CHECK(!sigaction(SIGRTMIN + 3, &values, 0));
    sigset_t real;
    sigemptyset(&real);
    sigaddset(&real, SIGRTMIN + 3);
    CHECK(!sigprocmask(SIG_BLOCK, &real, 0));
    for (int i = 0; i < 50; i++) CHECK(!sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_int = i}));
    CHECK(queued == 0 && !sigprocmask(SIG_UNBLOCK, &real, 0));
    CHECK(queued == 50);                                /* in order, none lost */

    set(SIGUSR2, SIG_IGN, 0, 0);
    raise(SIGUSR2);
    CHECK(sigaction(SIGKILL, &now, 0) == -1 && errno == EINVAL);
    CHECK(sigaction(65, 0, &now) == -1 && errno == EINVAL);
    return passed();
}
