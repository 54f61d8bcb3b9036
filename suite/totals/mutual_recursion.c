/* Mutual recursion: even(1000) ten times, in which even and odd call each other. Of the 501 activations of even the
 * outermost is called by main, and all others by odd.
 *
 * total: even 90070
 * total: odd 89980
 * call: main even 90070
 * call: even odd 45000
 * call: odd even 44980 */
#include "totals.h"

long even(long n);

/* 9 where they call, 7 where they do not. */
FUNCTION(even, ENTER "test %rdi, %rdi; jz 1f; dec %rdi; call odd; jmp 2f\n 1: mov $1, %eax\n 2:" LEAVE);
FUNCTION(odd, ENTER "test %rdi, %rdi; jz 1f; dec %rdi; call even; jmp 2f\n 1: xor %eax, %eax\n 2:" LEAVE);

int main(void)
{
    for (int i = 0; i < 10; i++)
        if (!even(1000)) return 1;
}
