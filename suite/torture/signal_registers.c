/* Asynchronous signals at every instruction of a tight loop that holds a known value in every register,
 * and the carry flag across branches, while the handler overwrites them all.
 * build: -mavx */
#include "torture.h"
#include <cpuid.h>
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;

static void handler(int signal)
{
    (void)signal;
    ticks++;
    __asm__ volatile("mov $-1, %%rax; mov %%rax, %%rcx; mov %%rax, %%rdx; mov %%rax, %%rsi; mov %%rax, %%rdi\n"
                     "mov %%rax, %%r8; mov %%rax, %%r9; mov %%rax, %%r10; mov %%rax, %%r11; vzeroall; stc\n"
                     ::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory",
                     "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
}

/* Runs `rounds` rounds; gives the number of registers or flags that changed meanwhile. */
long loop(long rounds);
__asm__(".text; .globl loop; loop:\n"
        "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
        "mov %rdi, %rcx; xor %eax, %eax\n"
        "mov $102, %edx; mov $103, %ebx; mov $105, %ebp; mov $106, %esi; mov $107, %edi\n"
        "mov $108, %r8d; mov $109, %r9d; mov $110, %r10d; mov $111, %r11d\n"
        "mov $112, %r12d; mov $113, %r13d; mov $114, %r14d; mov $115, %r15d\n"
        "vmovq %rdx, %xmm0; vinsertf128 $1, %xmm0, %ymm0, %ymm7; vmovq %rbx, %xmm15\n"
        "1: stc\n"
        "jmp 2f; nop; 2: lea (%rcx), %rcx; jc 3f; inc %rax; 3:\n"
        "cmp $102, %rdx; jne 9f; cmp $103, %rbx; jne 9f; cmp $105, %rbp; jne 9f; cmp $106, %rsi; jne 9f\n"
        "cmp $107, %rdi; jne 9f; cmp $108, %r8; jne 9f; cmp $109, %r9; jne 9f; cmp $110, %r10; jne 9f\n"
        "cmp $111, %r11; jne 9f; cmp $112, %r12; jne 9f; cmp $113, %r13; jne 9f; cmp $114, %r14; jne 9f\n"
        "cmp $115, %r15; jne 9f\n"
        "vextractf128 $1, %ymm7, %xmm1; vmovq %xmm1, %rdi; cmp $102, %rdi; mov $107, %edi; jne 9f\n"
        "vmovq %xmm15, %rdi; cmp $103, %rdi; mov $107, %edi; jne 9f\n"
        "clc; jmp 4f; nop; 4: jnc 5f; inc %rax; 5:\n"
        "dec %rcx; jnz 1b; jmp 8f\n"
        "9: inc %rax\n"
        "8: vzeroupper; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n");

int main(void)
{
    if (!__builtin_cpu_supports("avx")) return skipped("no AVX");
    struct sigaction action = {.sa_handler = handler};
    CHECK(!sigaction(SIGALRM, &action, 0));
    struct itimerval every = {{0, 300}, {0, 300}};
    CHECK(!setitimer(ITIMER_REAL, &every, 0));
    while (ticks < 500) CHECK(loop(20000) == 0);
    every = (struct itimerval){{0, 0}, {0, 0}};
    CHECK(!setitimer(ITIMER_REAL, &every, 0));
    return passed();
}
