/* A function that makes no calls and two that make one, interrupted anywhere by a handler that calls them too, and left
 * by long jumps.
 *
 * total: rounds 800200007
 * call: main rounds 800200007
 * call: rounds work 800100000
 * total: nested 800400007
 * call: main nested 800400007
 * call: nested outer 800300000 */
#include "totals.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

void rounds(void), nested(void), outer(long n);

static sigjmp_buf landing;
static volatile sig_atomic_t jumps, jumped;

WORK(work);
/* 5 each */
FUNCTION(inner, ENTER "call work\n" LEAVE);
FUNCTION(outer, ENTER "call inner\n" LEAVE);
/* 7, and 5 in each of 20,000 rounds */
FUNCTION(rounds, ENTER_COUNTING(20000)
         "1: mov $20000, %edi; call work; dec %ebx; nop; jnz 1b\n" LEAVE_COUNTING);
FUNCTION(nested, ENTER_COUNTING(20000)
         "1: mov $20000, %edi; call outer; dec %ebx; nop; jnz 1b\n" LEAVE_COUNTING);

static void handler(int signal)
{
    (void)signal;
    work(30);
    outer(30);
    if (jumps) {
        jumped++;
        siglongjmp(landing, 1);
    }
}

/* Each call is left by a handler. */
__attribute__((noinline)) static void leave(void)
{
    sigsetjmp(landing, 1);
    jumps = 1; /* not before there is where to land */
    while (jumped < 20) work(1000000000);
    while (jumped < 40) outer(1000000000);
    jumps = 0;
}

int main(void)
{
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {0};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &often, 0);
    rounds();
    nested();
    raise(SIGALRM); /* in calls as deep as those that were interrupted */
    leave();
    setitimer(ITIMER_REAL, &never, 0);
}
