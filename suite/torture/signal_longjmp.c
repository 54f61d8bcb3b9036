/* siglongjmp out of handlers: out of a computing loop, out of a system call, out of a fault, and out of a
 * handler that interrupted a handler. */
#include "torture.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf outer;
static volatile uint64_t sink;

static void leaves(int signal) { siglongjmp(outer, signal); }
static void nests(int signal) { (void)signal; raise(SIGUSR2); _exit(97); }

static void in(long us)
{
    struct itimerval timer = {{0, 0}, {0, us}};
    CHECK(!setitimer(ITIMER_REAL, &timer, 0));
}

int main(void)
{
    signal(SIGALRM, leaves);
    signal(SIGSEGV, leaves);
    signal(SIGUSR1, nests);
    signal(SIGUSR2, leaves);
    for (volatile int i = 0; i < 200; i++) {
        int why = sigsetjmp(outer, 1);
        if (!why) {
            in(200 + i);
            for (;;) sink = churn(sink + 1, 50);
        }
        CHECK(why == SIGALRM);
        why = sigsetjmp(outer, 1);
        if (!why) {
            in(200);
            for (;;) pause();
        }
        CHECK(why == SIGALRM);
        why = sigsetjmp(outer, 1);
        if (!why) *(volatile int *)16 = 1;
        CHECK(why == SIGSEGV);
        why = sigsetjmp(outer, 1);
        if (!why) raise(SIGUSR1);
        CHECK(why == SIGUSR2);
    }
    return passed();
}
