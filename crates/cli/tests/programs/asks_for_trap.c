/* Blocks SIGTRAP, works, has it sent in three ways, and asks for it; or, with "never", works on for ever. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sum;

static void work(double seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double end = now.tv_sec + now.tv_nsec / 1e9 + seconds;
    do {
        for (int i = 0; i < 100000; i++)
            sum += i & 3 ? i : 1;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec + now.tv_nsec / 1e9 < end);
}

static int failed(const char *what) { return printf("failed: %s\n", what), 1; }

int main(int count, char **arguments)
{
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    sigprocmask(SIG_BLOCK, &trap, 0);
    puts("ready");
    fflush(stdout);
    do
        work(1);
    while (count > 1 && !strcmp(arguments[1], "never"));
    siginfo_t info;
    kill(getpid(), SIGTRAP);
    work(0.3);
    if (sigwaitinfo(&trap, &info) != SIGTRAP || info.si_code != SI_USER || info.si_pid != getpid())
        return failed("sent to the process");
    work(0.6);
    sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = 42});
    if (sigwaitinfo(&trap, &info) != SIGTRAP || info.si_code != SI_QUEUE || info.si_value.sival_int != 42)
        return failed("queued");
    work(0.6);
    raise(SIGTRAP);
    struct signalfd_siginfo read_info;
    int descriptor = signalfd(-1, &trap, 0);
    if (read(descriptor, &read_info, sizeof read_info) != sizeof read_info || read_info.ssi_signo != SIGTRAP ||
        read_info.ssi_code != SI_TKILL)
        return failed("sent to the thread");
    close(descriptor);
    work(0.6);
    sigset_t now;
    sigpending(&now);
    return sigismember(&now, SIGTRAP) ? failed("one more waits") : printf("done\n") < 0;
}
