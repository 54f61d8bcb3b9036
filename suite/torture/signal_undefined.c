/* ud2 and other undefined code give SIGILL at the instruction; int3 gives SIGTRAP behind it; hlt gives
 * SIGSEGV. The handler skips them. */
#include "torture.h"
#include <signal.h>
#include <ucontext.h>

extern const char ill[], ill_end[], bad[], bad_end[], trap[], trap_end[], halt[], halt_end[];
static volatile sig_atomic_t signals;

static void handler(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const char *at = (const char *)registers[REG_RIP];
    if (signal == SIGILL) {
        CHECK(info->si_addr == at && (at == ill || at == bad) && info->si_code == ILL_ILLOPN);
        registers[REG_RIP] = (greg_t)(at == ill ? ill_end : bad_end);
    } else if (signal == SIGTRAP) {
        CHECK(at == trap_end && info->si_code == SI_KERNEL);
    } else {
        CHECK(signal == SIGSEGV && at == halt && info->si_code == SI_KERNEL);
        registers[REG_RIP] = (greg_t)halt_end;
    }
    registers[REG_RDI] += signal;
    signals++;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    CHECK(!sigaction(SIGILL, &action, 0) && !sigaction(SIGTRAP, &action, 0) && !sigaction(SIGSEGV, &action, 0));
    for (int i = 0; i < 100; i++) {
        long sum = 0;
        __asm__ volatile(".globl ill, ill_end, bad, bad_end, trap, trap_end, halt, halt_end\n"
                         "ill: ud2; ill_end:\n"
                         "bad: .byte 0x06; bad_end:\n"      /* push %es: not in 64-bit code */
                         "trap: int3; trap_end:\n"
                         "halt: hlt; halt_end:" : "+D"(sum) : : "memory");
        CHECK(sum == SIGILL + SIGILL + SIGTRAP + SIGSEGV);
    }
    CHECK(signals == 400);
    return passed();
}
