/* Recursion through a jump: eval(10) calls apply, which works and then goes on to eval by a jump. What apply did until
 * then was done under the activation of eval that called it, which waits; the rest is done by the next one.
 *
 * total: eval 51700
 * total: apply 42000
 * call: main eval 51700
 * call: eval apply 42000 */
#include "totals.h"

void eval(long n);

/* 9 where it calls, 7 where it does not. */
FUNCTION(eval, ENTER "test %rdi, %rdi; jz 1f; dec %rdi; call apply; jmp 2f\n 1: xor %eax, %eax\n 2:" LEAVE);
/* 42. */
FUNCTION(apply, "mov $20, %eax\n 1: dec %eax; jnz 1b\n jmp eval\n");

int main(void)
{
    for (int i = 0; i < 100; i++) eval(10);
}
