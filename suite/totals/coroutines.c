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
#include "switch.h"

void body(void);

WORK(work);
ROUNDS;
/* 6 in each round but the last, which waits for ever before its jump */
FUNCTION(body, ".cfi_undefined rip; 1: mov $20, %edi; call work\n"
         "lea coroutine_stack(%rip), %rdi; mov main_stack(%rip), %rsi; call switch_to; jmp 1b\n");

int main(void)
{
    static void *memory[4096] __attribute__((aligned(16)));
    begin_on(memory + 4000, body);
    rounds();
}
