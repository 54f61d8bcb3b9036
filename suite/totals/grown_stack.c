/* A function that goes on behind its call on another stack, to which its own was copied, as in Go where one is too
 * small: what copied it ran on a third.
 *
 * total: body 61419
 * total: down 60600
 * total: work 45000
 * total: grow 3200
 * call: body down 60600
 * call: down work 45000
 * call: down grow 3200
 * call: grow copy 1800 */
#include "switch.h"

void body(void);
void turn(void);

/* Two stacks of 64 KiB, one of which is used, and the one on which it is copied. */
char stacks[2][1 << 16] __attribute__((aligned(1 << 17)));
char copying[1 << 12] __attribute__((aligned(16)));

WORK(work);
/* 9 */
FUNCTION(copy, "mov %rsi, %rdi; btc $16, %rdi; mov %rdi, %rdx\n"
         "mov %rsi, %rcx; neg %rcx; and $0xffff, %ecx; shr $3, %ecx; rep movsq; ret\n");
/* 7 */
FUNCTION(grow, "pop %rax; mov %rsp, %rsi; lea 4096+copying(%rip), %rsp; call copy; mov %rdx, %rsp; nop; jmp *%rax\n");
/* 7 in each activation and 6 in the innermost */
FUNCTION(down, "dec %edi; jz 2f; call down; jmp 3f\n"
         "2: call grow\n"
         "3: mov $10, %edi; call work; ret\n");
/* 4 in each of 200 rounds, and 4 */
FUNCTION(body, ".cfi_undefined rip; mov $200, %ebx; 1: mov $9, %edi; call down; dec %ebx; jnz 1b\n"
         "lea coroutine_stack(%rip), %rdi; mov main_stack(%rip), %rsi; call switch_to; ud2\n");
FUNCTION(turn, "lea main_stack(%rip), %rdi; mov coroutine_stack(%rip), %rsi; call switch_to; ret\n");

int main(void)
{
    begin_on((void **)(stacks[1] - 768), body);
    turn();
}
