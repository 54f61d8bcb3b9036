/* A function that calls itself twice, and another one where it does not. */
#include "totals.h"

long fib(long n);

FUNCTION(smallest, ENTER LEAVE);
/* 18 where it calls itself, and 12 where it does not. */
FUNCTION(fib, ENTER "push %rbx; .cfi_offset %rbx, -24; push %rdi\n"
         "cmp $2, %rdi; jb 1f\n"
         "lea -1(%rdi), %rdi; call fib; mov %rax, %rbx; mov -16(%rbp), %rdi\n"
         "lea -2(%rdi), %rdi; call fib; add %rbx, %rax; jmp 2f\n"
         "1: call smallest; mov %rdi, %rax\n"
         "2: pop %rdi; pop %rbx\n" LEAVE);
