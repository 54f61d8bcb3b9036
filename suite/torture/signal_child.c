/* SIGCHLD with a handler that reaps, fork inside a handler, and signals that fork and exec inherit. */
#include "torture.h"
#include <signal.h>

static volatile sig_atomic_t reaped, forked;

static void reaps(int signal)
{
    int saved = errno, status;
    (void)signal;
    while (waitpid(-1, &status, WNOHANG) > 0) {
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 21);
        reaped++;
    }
    errno = saved;
}
static void forks(int signal)
{
    (void)signal;
    pid_t pid = fork();
    if (!pid) _exit(21);
    CHECK(pid > 0);
    forked++;
}

int main(int argc, char **argv)
{
    sigset_t mask;
    if (argc > 1) {             /* after exec: ignored stays ignored, handled becomes default, the mask stays */
        struct sigaction now;
        CHECK(!sigaction(SIGUSR1, 0, &now) && now.sa_handler == SIG_DFL);
        CHECK(!sigaction(SIGHUP, 0, &now) && now.sa_handler == SIG_IGN);
        CHECK(!sigprocmask(0, 0, &mask) && sigismember(&mask, SIGTERM) && !sigismember(&mask, SIGUSR1));
        CHECK(!sigpending(&mask) && sigismember(&mask, SIGTERM));
        return passed();
    }
    struct sigaction action = {.sa_handler = reaps, .sa_flags = SA_RESTART};
    CHECK(!sigaction(SIGCHLD, &action, 0));
    action.sa_handler = forks;
    CHECK(!sigaction(SIGUSR1, &action, 0));
    for (int i = 0; i < 60; i++) {
        pid_t pid = fork();
        if (!pid) {
            churn(i, 5000);
            _exit(21);
        }
        CHECK(pid > 0);
        raise(SIGUSR1);
    }
    CHECK(forked == 60);
    while (reaped < 120) usleep(200);
    CHECK(waitpid(-1, 0, 0) == -1 && errno == ECHILD);
    signal(SIGHUP, SIG_IGN);
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    CHECK(!sigprocmask(SIG_BLOCK, &mask, 0));
    raise(SIGTERM);
    execl("/proc/self/exe", argv[0], "inherits", (char *)0);
    return 1;
}
