/* Coroutines that switch in place, as inline assembly does, not by a function.
 *
 * total: rounds 7207
 * total: work 14000
 * call: main rounds 7207
 * call: rounds work 5000
 * call: body work 9000 */
#include "totals.h"

void rounds(void), body(void);
void *main_stack, *coroutine_stack;

WORK(work);
/* 7, and 11 in each of 200 rounds: 2207 */
FUNCTION(rounds, ENTER_COUNTING(200) "1: mov $10, %edi; call work\n"
         "push %rbx; lea 2f(%rip), %rax; push %rax; mov %rsp, main_stack(%rip); mov coroutine_stack(%rip), %rsp; ret\n"
         "2: pop %rbx; dec %ebx; jnz 1b\n" LEAVE_COUNTING);
FUNCTION(body, ".cfi_undefined rip; 1: mov $20, %edi; call work\n"
         "lea 1b(%rip), %rax; push %rax; mov %rsp, coroutine_stack(%rip); mov main_stack(%rip), %rsp; ret\n");

int main(void)
{
    static void *memory[4096] __attribute__((aligned(16)));
    void **top = memory + 4000;
    *--top = (void *)body;
    coroutine_stack = top;
    rounds();
}
