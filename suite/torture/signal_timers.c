/* Timers of every kind, with exact expiries: setitimer on CPU time, timer_create with values, timerfd,
 * signalfd. */
#include "torture.h"
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>

static volatile sig_atomic_t ticks, values;
static void ticked(int signal) { (void)signal; ticks++; }
static void valued(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    CHECK(info->si_code == SI_TIMER && info->si_value.sival_int == 4242);
    values++;
}

int main(void)
{
    int kinds[][2] = {{ITIMER_REAL, SIGALRM}, {ITIMER_VIRTUAL, SIGVTALRM}, {ITIMER_PROF, SIGPROF}};
    volatile uint64_t sink = 1;
    for (int i = 0; i < 3; i++) {
        signal(kinds[i][1], ticked);
        struct itimerval every = {{0, 2000}, {0, 2000}}, old;
        CHECK(!setitimer(kinds[i][0], &every, 0));
        for (ticks = 0; ticks < 20;) sink = churn(sink, 1000);
        CHECK(!getitimer(kinds[i][0], &old) && old.it_interval.tv_usec >= 2000);
        every = (struct itimerval){{0, 0}, {0, 0}};
        CHECK(!setitimer(kinds[i][0], &every, 0));
    }
    struct sigaction action = {.sa_sigaction = valued, .sa_flags = SA_SIGINFO};
    CHECK(!sigaction(SIGRTMIN, &action, 0));
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 4242};
    timer_t timer;
    CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer));
    struct itimerspec often = {{0, 1000000}, {0, 1000000}};
    CHECK(!timer_settime(timer, 0, &often, 0));
    while (values < 20) sink = churn(sink, 1000);
    CHECK(!timer_delete(timer));

    uint64_t expiries = 0;
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    CHECK(fd >= 0 && !timerfd_settime(fd, 0, &often, 0) && read(fd, &expiries, 8) == 8 && expiries > 0);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    CHECK(!sigprocmask(SIG_BLOCK, &mask, 0));
    int signals = signalfd(-1, &mask, 0);
    struct signalfd_siginfo info;
    raise(SIGUSR1);
    CHECK(read(signals, &info, sizeof info) == sizeof info && info.ssi_signo == SIGUSR1);
    return passed();
}
