/* A timer signal every 100 us while threads come and go, processes fork, spawn and execute, and memory is mapped:
 * nothing may be lost, hang, or inherit a blocked mask.
 * build: -pthread */
#include "torture.h"
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/time.h>

extern char **environ;
static volatile sig_atomic_t ticks;

static void tick(int signal) { (void)signal; ticks++; }

static void *thread(void *argument) { return (void *)churn((uintptr_t)argument, 2000); }

/* What a new image must find: nothing blocked, the default in force. */
static int fresh(void)
{
    sigset_t mask, pending;
    struct sigaction action;
    CHECK(!sigprocmask(SIG_BLOCK, 0, &mask) && !sigpending(&pending));
    for (int signal = 1; signal < 32; signal++) CHECK(!sigismember(&mask, signal));
    CHECK(!sigaction(SIGALRM, 0, &action) && action.sa_handler == SIG_DFL);
    CHECK(!sigaction(SIGUSR2, 0, &action) && action.sa_handler == SIG_IGN);
    return 7;
}

int main(int argc, char **argv)
{
    if (argc > 1) return fresh();
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    CHECK(!sigaction(SIGALRM, &action, 0) && signal(SIGUSR2, SIG_IGN) == SIG_DFL);
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    char *arguments[] = {argv[0], "fresh", 0};
    CHECK(!setitimer(ITIMER_REAL, &often, 0));
    for (int i = 0; i < 25; i++) {
        pthread_t threads[2];
        for (uintptr_t n = 0; n < 2; n++) CHECK(!pthread_create(&threads[n], 0, thread, (void *)(n + 1)));
        pid_t pid = fork();
        if (!pid) _exit(churn(1, 1000) == churn(1, 1000) ? 5 : 6);
        CHECK(pid > 0 && ended(pid) == 5);
        pid = vfork();
        if (!pid) {
            /* A timer is not inherited, and what was sent to the parent is not either. */
            execv("/proc/self/exe", arguments);
            _exit(1);
        }
        CHECK(pid > 0 && ended(pid) == 7);
        CHECK(!posix_spawn(&pid, "/proc/self/exe", 0, 0, arguments, environ) && ended(pid) == 7);
        for (uintptr_t n = 0; n < 2; n++) {
            void *result;
            CHECK(!pthread_join(threads[n], &result) && result == (void *)churn(n + 1, 2000));
        }
        char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(page != MAP_FAILED && !mprotect(page, 4096, PROT_READ) && !munmap(page, 8192));
        /* Asked for in the middle of the storm, the parent's own handler must still be there. */
        struct sigaction now;
        CHECK(!sigaction(SIGALRM, 0, &now) && now.sa_handler == tick && now.sa_flags & SA_RESTART);
    }
    CHECK(!setitimer(ITIMER_REAL, &never, 0) && ticks > 20);
    return passed();
}
