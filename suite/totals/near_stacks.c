/* coroutines.c, both on stacks of 8 KB that lie side by side.
 *
 * total: rounds 9407
 * total: work 14000
 * total: switch_to 6000
 * call: outer rounds 9407
 * call: rounds work 5000
 * call: rounds switch_to 3000
 * call: bodyin work 9000
 * call: bodyin switch_to 3000 */
#include "totals.h"
void rounds(void), body(void), start_on(void *stack), outer(void);
void *main_stack, *coroutine_stack;
WORK(work);
FUNCTION(switch_to, "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
         "mov %rsp, (%rdi); mov %rsi, %rsp\n"
         "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n");
FUNCTION(rounds, ENTER_COUNTING(200) "1: mov $10, %edi; call work\n"
         "lea main_stack(%rip), %rdi; mov coroutine_stack(%rip), %rsi; call switch_to\n"
         "dec %ebx; jnz 1b\n" LEAVE_COUNTING);
FUNCTION(body, ".cfi_undefined rip; call bodyin; ud2\n");
FUNCTION(bodyin, ENTER "1: mov $20, %edi; call work\n"
         "lea coroutine_stack(%rip), %rdi; mov main_stack(%rip), %rsi; call switch_to; jmp 1b\n");
/* runs outer on another stack and comes back */
FUNCTION(start_on, "push %rbp; mov %rsp, %rbp; mov %rdi, %rsp; call outer; mov %rbp, %rsp; pop %rbp; ret\n");
FUNCTION(outer, ENTER "call rounds\n" LEAVE);
int main(void)
{
    static void *memory[4096] __attribute__((aligned(16)));
    void **top = memory + 2048;
    *--top = (void *)body;
    for (int i = 0; i < 6; i++) *--top = 0;
    coroutine_stack = top;
    start_on(memory + 2048 + 1024);
}
