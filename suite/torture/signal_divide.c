/* Division by zero and overflow: the fault is at the division, which the handler repairs or skips; and an
 * unmasked floating-point exception.
 * build: -lm */
#include "torture.h"
#include <fenv.h>
#include <signal.h>
#include <ucontext.h>

extern const char divide[], divide_end[];
static volatile sig_atomic_t seen;

static void handler(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    CHECK(signal == SIGFPE && info->si_addr == (void *)registers[REG_RIP]);
    seen = info->si_code;
    if (registers[REG_RIP] != (greg_t)divide) {
        ((ucontext_t *)context)->uc_mcontext.fpregs->mxcsr |= 0x1f80;
        return;
    }
    if (registers[REG_RCX] == 0) {
        registers[REG_RCX] = 7;
    } else {
        registers[REG_RIP] = (greg_t)divide_end;
        registers[REG_RAX] = 5;
    }
}

__attribute__((noinline)) static long quotient(long high, long low, long by)
{
    __asm__ volatile(".globl divide, divide_end; divide: idiv %2; divide_end:" : "+a"(low), "+d"(high) : "c"(by) : "cc");
    return low;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    CHECK(!sigaction(SIGFPE, &action, 0));
    for (int i = 0; i < 100; i++) {
        seen = 0;
        CHECK(quotient(0, 70, 0) == 10 && seen == FPE_INTDIV);
        seen = 0;
        CHECK(quotient(9, 0, 3) == 5 && seen);          /* the quotient does not fit */
        seen = 0;
        feclearexcept(FE_ALL_EXCEPT);
        feenableexcept(FE_DIVBYZERO);
        volatile double zero = 0, result = 1 / zero;
        CHECK(seen == FPE_FLTDIV && result > 1e300);
    }
    return passed();
}
