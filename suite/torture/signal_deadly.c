/* A signal that ends the process, while another one that comes first by its number is on its way: threads that stop each
 * other by signals, as garbage collectors do, whose handler waits for a thread that does not run any more.
 * build: -pthread */
#include "torture.h"
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

static volatile int stopped, stops, may_go_on;
static pid_t stopper_of, stopped_one;

static void stop(int signal)
{
    (void)signal;
    sigset_t open;
    sigfillset(&open);
    sigdelset(&open, SIGUSR2);
    stopped = 1;
    while (!may_go_on) sigsuspend(&open);
    may_go_on = 0;
}

static void go_on(int signal)
{
    (void)signal;
    may_go_on = 1;
}

static void *collect(void *unused)
{
    for (;;) {
        syscall(SYS_tgkill, stopper_of, stopped_one, SIGUSR1);
        while (!stopped) {}
        stopped = 0;
        stops++;
        syscall(SYS_tgkill, stopper_of, stopped_one, SIGUSR2);
        while (may_go_on) {}
    }
    return unused;
}

static void run(int ready)
{
    struct sigaction stopping = {.sa_handler = stop}, going = {.sa_handler = go_on};
    sigset_t deadly;
    pthread_t thread;
    sigfillset(&stopping.sa_mask);
    CHECK(!sigaction(SIGUSR1, &stopping, 0) && !sigaction(SIGUSR2, &going, 0));
    stopper_of = getpid();
    stopped_one = (pid_t)syscall(SYS_gettid);
    /* Only the thread that is stopped may take it. */
    sigemptyset(&deadly);
    sigaddset(&deadly, SIGTERM);
    CHECK(!pthread_sigmask(SIG_BLOCK, &deadly, 0));
    CHECK(!pthread_create(&thread, 0, collect, 0));
    CHECK(!pthread_sigmask(SIG_UNBLOCK, &deadly, 0));
    uint64_t state = 1;
    while (stops < 20) state = churn(state, 100);
    say(ready, "r");
    for (;;) state = churn(state, 100);
}

int main(void)
{
    for (int i = 0; i < 20; i++) {
        int ready[2], status = 0;
        char byte;
        CHECK(!pipe(ready));
        pid_t child = fork();
        if (!child) run(ready[1]);
        CHECK(read(ready[0], &byte, 1) == 1);
        close(ready[0]);
        close(ready[1]);
        CHECK(!kill(child, SIGTERM));
        for (int waited = 0; waitpid(child, &status, WNOHANG) != child; waited++) {
            if (waited >= 20000) kill(child, SIGKILL);
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, 0);
        }
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    }
    return passed();
}
