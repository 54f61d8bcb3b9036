/* A function that returns for its caller to where its own caller was called from, as it recurs through one site: the return is
 * from where its address was put, though a later call is open that returns to the same place. Copied, so that nothing tells
 * of the functions.
 *
 * total: enter 201908 */
#define _GNU_SOURCE
#include "totals.h"
#include "copied.h"

/* 6, and 4 in each of 100 rounds; then 2 (first), 3 (second), 2 (first), 4 (second, which returns past two calls), 2 more
 * of the outer first, and 2002. */
COPIED("push %rbx; push %rbp; mov $100, %ebx\n"
         "1: mov $2, %edi; call first; dec %ebx; jnz 1b; pop %rbp; pop %rbx; ret\n"
         ".p2align 6; first: dec %rdi; call second; call work; ret\n"
         ".p2align 6; second: test %rdi, %rdi; je 3f; call first; ret\n"
         "3: add $16, %rsp; ret\n"
         ".p2align 6; work: mov $1000, %eax; 1: dec %eax; jnz 1b; ret\n");

int main(void)
{
    enter_copied();
    return 0;
}
