/* A function that returns to its caller 999 times, and the last time jumps to one that recurs, which is called
 * before and afterwards.
 *
 * total: rounds 8103
 * total: again 20414
 * call: main rounds 8103
 * call: rounds via 3096
 * call: main again 20414
 * call: again even 19400
 * call: even odd 9045
 * call: odd even 8643 */
#include "totals.h"

void rounds(void), again(void);

/* 9 where they call, 7 where they do not. */
FUNCTION(even, ENTER "test %rdi, %rdi; jz 1f; dec %rdi; call odd; jmp 2f\n 1: mov $1, %eax\n 2:" LEAVE);
FUNCTION(odd, ENTER "test %rdi, %rdi; jz 1f; dec %rdi; call even; jmp 2f\n 1: xor %eax, %eax\n 2:" LEAVE);
/* 3, or 2 before it jumps. */
FUNCTION(via, "dec %rsi; jz even; ret\n");
/* 7, and 5 in each of 1000 rounds */
FUNCTION(rounds, ENTER_COUNTING(1000)
         "1: mov $10, %edi; mov %ebx, %esi; call via; dec %ebx; jnz 1b\n" LEAVE_COUNTING);
/* 7, and 5 in each of 100 rounds */
FUNCTION(again, ENTER_COUNTING(100) "1: mov $10, %edi; call even; dec %ebx; nop; jnz 1b\n" LEAVE_COUNTING);

int main(void)
{
    again();
    rounds();
    again();
}
