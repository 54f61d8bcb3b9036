/* Signals during system calls: with SA_RESTART a read goes on, without it fails with EINTR, and what never
 * restarts (nanosleep, poll) fails either way and tells the time left. */
#include "torture.h"
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

static volatile sig_atomic_t ticks;
static void handler(int signal) { (void)signal; ticks++; }

static void set(int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    CHECK(!sigaction(SIGALRM, &action, 0));
}

/* One signal after `us` microseconds, then every millisecond if `again`. */
static void after(long us, int again)
{
    struct itimerval timer = {{0, again ? 1000 : 0}, {0, us}};
    CHECK(!setitimer(ITIMER_REAL, &timer, 0));
}

int main(void)
{
    int ends[2];
    char byte = 0;
    CHECK(!pipe(ends));
    for (int i = 0; i < 10; i++) {
        set(SA_RESTART);
        pid_t child = fork();
        if (!child) {
            usleep(20000);
            _exit(write(ends[1], "x", 1) != 1);
        }
        ticks = 0;
        after(1000, 1);
        CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x' && ticks > 0);
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        after(0, 0);

        set(0);
        after(5000, 1);
        errno = 0;
        CHECK(read(ends[0], &byte, 1) == -1 && errno == EINTR);
        after(0, 0);

        set(SA_RESTART);
        after(5000, 0);
        struct timespec wish = {10, 0}, left = {0, 0};
        errno = 0;
        CHECK(nanosleep(&wish, &left) == -1 && errno == EINTR && left.tv_sec == 9);
        after(5000, 0);
        struct pollfd reading = {ends[0], POLLIN, 0};
        CHECK(poll(&reading, 1, 10000) == -1 && errno == EINTR);
        after(5000, 0);
        CHECK(pause() == -1 && errno == EINTR);
    }
    return passed();
}
