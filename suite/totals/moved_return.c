/* Functions that move their return address, as those of SBCL do: the caller makes room for it and for its frame pointer, and
 * the called function puts it there first of all. They are copied, so that nothing tells of them. A coroutine waits.
 *
 * total: enter 123209 */
#define _GNU_SOURCE
#include "totals.h"
#include "copied.h"
#include <ucontext.h>

#define CALL "sub $16, %rsp; mov %rbp, (%rsp); mov %rsp, %rbp; call fibonacci\n"

/* At first 7 and 7 in each of 200 rounds; then 9 of a number below 2, else 21 and what two smaller ones take, 609 of 7. */
COPIED("push %rbp; mov %rsp, %rbp; push %rbx; mov $200, %ebx\n"
         "1: mov $7, %edi\n" CALL "dec %ebx; jnz 1b; pop %rbx; pop %rbp; ret\n"
         ".p2align 6; fibonacci: popq 8(%rbp); lea -16(%rbp), %rsp; cmp $2, %rdi; jl 1f; mov %rdi, -8(%rbp); dec %rdi\n"
         CALL "mov %rax, -16(%rbp); mov -8(%rbp), %rdi; sub $2, %rdi\n"
         CALL "add -16(%rbp), %rax; mov %rbp, %rsp; pop %rbp; ret\n"
         "1: mov %rdi, %rax; mov %rbp, %rsp; clc; pop %rbp; ret\n");

static ucontext_t outside, inside;
static char stack[1 << 16];

static void wait_inside(void) { swapcontext(&inside, &outside); }

int main(void)
{
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    makecontext(&inside, wait_inside, 0);
    swapcontext(&outside, &inside);
    enter_copied();
    return 0;
}
