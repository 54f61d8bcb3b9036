/* Recursion that begins late: even(1), which is none, a thousand times; then even(2), in which even comes to be
 * called while it waits; then even(1000).
 *
 * total: even 25032
 * total: odd 16014
 * call: main even 25032
 * call: even odd 11509
 * call: odd even 4505 */
#include "totals.h"

long even(long n);

/* 9 where they call, 7 where they do not. */
FUNCTION(even, ENTER "test %rdi, %rdi; jz 1f; dec %rdi; call odd; jmp 2f\n 1: mov $1, %eax\n 2:" LEAVE);
FUNCTION(odd, ENTER "test %rdi, %rdi; jz 1f; dec %rdi; call even; jmp 2f\n 1: xor %eax, %eax\n 2:" LEAVE);

int main(void)
{
    for (int i = 0; i < 1000; i++)
        if (even(1)) return 1;
    return !even(2) || !even(1000);
}
