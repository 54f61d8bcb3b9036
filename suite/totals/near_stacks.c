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
#include "switch.h"

void body(void), start_on(void *stack), outer(void);

WORK(work);
ROUNDS;
FUNCTION(body, ".cfi_undefined rip; call bodyin; ud2\n");
FUNCTION(bodyin, ENTER "1: mov $20, %edi; call work\n"
         "lea coroutine_stack(%rip), %rdi; mov main_stack(%rip), %rsi; call switch_to; jmp 1b\n");
/* runs outer on another stack and comes back */
FUNCTION(start_on, "push %rbp; mov %rsp, %rbp; mov %rdi, %rsp; call outer; mov %rbp, %rsp; pop %rbp; ret\n");
FUNCTION(outer, ENTER "call rounds\n" LEAVE);
int main(void)
{
    static void *memory[4096] __attribute__((aligned(16)));
    begin_on(memory + 2048, body);
    start_on(memory + 2048 + 1024);
}
