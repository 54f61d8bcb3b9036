/* A function that makes no calls, and one that makes one, interrupted by a handler that leads the thread to other code,
 * which calls a function and goes on where the thread was, as Go's scheduler does. Nothing calls that code: what it
 * executes, 32 instructions each time, is a cost of the calls that have frames then, and in no function's total.
 *
 * total: rounds 11207
 * call: main rounds 17607
 * call: rounds leaf 800
 * call: rounds caller 9200
 * call: caller work 1400
 * call: detour work 10000 */
#define _GNU_SOURCE
#include "totals.h"
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

void rounds(void), detour(void);

WORK(work);
/* 4: the load is never executed */
FUNCTION(leaf, "nop; mov (%rdi), %eax; nop; nop; ret\n");
/* 7 */
FUNCTION(caller, ENTER "nop; mov (%rdi), %eax; mov $1, %edi; call work\n" LEAVE);
/* 7 */
FUNCTION(detour, "push %rdi; push %rax; mov $10, %edi; call work; pop %rax; pop %rdi; ret\n");
/* 7, and 6 in each of 200 rounds */
FUNCTION(rounds, ENTER_COUNTING(200) "1: xor %edi, %edi; call leaf; xor %edi, %edi; call caller\n"
         "dec %ebx; jnz 1b\n" LEAVE_COUNTING);

static void handler(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)signal, (void)info;
    registers[REG_RSP] -= 8;
    *(greg_t *)registers[REG_RSP] = registers[REG_RIP] + 2;
    registers[REG_RIP] = (greg_t)(uintptr_t)detour;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, 0);
    rounds();
}
