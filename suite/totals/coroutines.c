/* A coroutine with a stack of its own, entered and left by a switch whose return matches no call. What runs on one
 * stack is no cost of the calls that wait on the other; the switch itself costs who calls it.
 *
 * total: rounds 9407
 * total: body 13199
 * total: work 14000
 * total: switch_to 6000
 * call: main rounds 9407
 * call: rounds work 5000
 * call: rounds switch_to 3000
 * call: body work 9000
 * call: body switch_to 3000 */
#include "totals.h"

void rounds(void), body(void);
void *main_stack, *coroutine_stack;

WORK(work);
/* 15: saves what a call must keep, exchanges stack pointers, restores, and returns on the other stack. */
FUNCTION(switch_to, "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
         "mov %rsp, (%rdi); mov %rsi, %rsp\n"
         "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n");
/* 7, and 7 in each of 200 rounds */
FUNCTION(rounds, ENTER_COUNTING(200) "1: mov $10, %edi; call work\n"
         "lea main_stack(%rip), %rdi; mov coroutine_stack(%rip), %rsi; call switch_to\n"
         "dec %ebx; jnz 1b\n" LEAVE_COUNTING);
/* 6 in each round but the last, which waits for ever before its jump */
FUNCTION(body, ".cfi_undefined rip; 1: mov $20, %edi; call work\n"
         "lea coroutine_stack(%rip), %rdi; mov main_stack(%rip), %rsi; call switch_to; jmp 1b\n");

int main(void)
{
    static void *memory[4096] __attribute__((aligned(16)));
    void **top = memory + 4000;
    *--top = (void *)body;
    for (int i = 0; i < 6; i++) *--top = 0;
    coroutine_stack = top;
    rounds();
}
