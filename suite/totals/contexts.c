/* Coroutines by the C library's swapcontext: what one executes is no cost of the other.
 *
 * total: work 7000
 * call: turns work 2500
 * call: green work 4500 */
#include "totals.h"
#include <ucontext.h>

static ucontext_t here, there;

WORK(work);
__attribute__((noinline, noclone)) static void green(void)
{
    for (;;) {
        work(20);
        swapcontext(&there, &here);
    }
}
__attribute__((noinline, noclone)) static int turns(void)
{
    for (int i = 0; i < 100; i++) {
        work(10);
        if (swapcontext(&here, &there)) return 1;
    }
    return 0;
}

int main(void)
{
    static char stack[65536];
    if (getcontext(&there)) return 1;
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    makecontext(&there, green, 0);
    return turns();
}
