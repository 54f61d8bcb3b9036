/* The stack pointer is the program's: data below it are kept (128 bytes), memory below it may not exist, and
 * it may hold no address at all. */
#include "torture.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;
static void handler(int signal) { (void)signal; ticks++; }

/* Keeps the numbers 1 to 15 in the red zone while it counts, changing one; gives their sum. */
long keeps(long rounds);
__asm__(".text; keeps: mov $15, %ecx; 1: mov %rcx, -128(%rsp,%rcx,8); dec %ecx; jnz 1b; mov %rcx, %rax\n"
        "2: inc %rcx; test $1, %cl; jz 3f; add %rcx, -8(%rsp); sub %rcx, -8(%rsp); 3: cmp %rdi, %rcx; jb 2b\n"
        "mov $15, %ecx; 4: add -128(%rsp,%rcx,8), %rax; dec %ecx; jnz 4b; ret\n");

/* Branches, indirect jumps and memory operands with the given stack pointer, which is never used. */
long on_stack(long pointer, long rounds);
__asm__(".text; on_stack: mov %rsp, %r11; mov %rdi, %rsp; xor %eax, %eax; lea 3f(%rip), %rdx\n"
        "1: add %rsi, %rax; test $3, %sil; jz 2f; jmp *%rdx; 2: inc %rax; 3: cmp %rax, counter(%rip); je 4f; 4: dec %rsi; jnz 1b\n"
        "mov %r11, %rsp; ret\n.data; counter: .quad -1; .text\n");

static long expected(long rounds)
{
    long sum = 0;
    for (; rounds; rounds--) sum += rounds + !(rounds & 3);
    return sum;
}

int main(void)
{
    signal(SIGALRM, handler);
    struct itimerval every = {{0, 500}, {0, 500}};
    CHECK(!setitimer(ITIMER_REAL, &every, 0));
    while (ticks < 100) CHECK(keeps(100000) == 120);
    every = (struct itimerval){{0, 0}, {0, 0}};
    CHECK(!setitimer(ITIMER_REAL, &every, 0));

    char *page = mmap(0, 12288, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED && !mprotect(page + 4096, 4096, PROT_READ | PROT_WRITE));
    memset(page + 4096, 7, 4096);
    long pointers[] = {(long)page + 4096, (long)page + 4096 + 8, (long)page + 8192, (long)page, 0, 8, -8, 0x123456789, 3, 0x7fffffffffffffff};
    for (int i = 0; i < 1000; i++) CHECK(on_stack(pointers[i % 10], i + 1) == expected(i + 1));
    for (int i = 0; i < 4096; i++) CHECK(page[4096 + i] == 7);
    return passed();
}
