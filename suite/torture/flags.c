/* Flags that live across blocks, calls, returns, indirect jumps and system calls, and those that few
 * instructions set: direction, overflow, auxiliary carry, parity. */
#include "torture.h"

#define FLAGS 0x8d5     /* O S Z A P C, and none that is undefined here */

/* Sets all flags by an addition, passes them through every kind of transfer, and reads them. */
unsigned long passed_on(unsigned a, unsigned b);
__asm__(".text; passed_on: push %rbx; add %esi, %edi; jmp 1f; nop; 1: lea 2f(%rip), %rax; jmp *%rax; nop; 2: call 3f\n"
        "lea 3f(%rip), %rbx; call *%rbx; lea (%rbx), %rcx; jrcxz 4f; pushf; pop %rax; and $0x8d5, %rax; pop %rbx; ret\n"
        "3: ret; 4: ud2");

static unsigned long expected(unsigned a, unsigned b)
{
    unsigned sum = a + b, low = sum & 255;
    unsigned long flags = 0;
    if (sum < a) flags |= 1;
    if (!(__builtin_popcount(low) & 1)) flags |= 4;
    if (((a & 15) + (b & 15)) & 16) flags |= 16;
    if (!sum) flags |= 64;
    if (sum >> 31) flags |= 128;
    if (~(a ^ b) & (a ^ sum) & 0x80000000u) flags |= 0x800;
    return flags;
}

int main(void)
{
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        seed = churn(seed + i, 2);
        unsigned a = seed, b = i & 1 ? -a + (i & 14) : seed >> 32;
        CHECK(passed_on(a, b) == expected(a, b));
    }
    for (long i = 0; i < 200; i++) {
        /* A carry that runs through a loop: inc and dec leave it alone. */
        uint64_t wide[8], count = 8, *at = wide;
        for (int n = 0; n < 8; n++) wide[n] = ~0ul;
        wide[i & 7] -= i & 8 ? 0 : 1;
        unsigned char out;
        __asm__ volatile("stc; 1: adcq $0, (%1); lea 8(%1), %1; dec %0; jnz 1b; setc %2" : "+r"(count), "+r"(at), "=q"(out) : : "cc", "memory");
        CHECK(out == !!(i & 8));
        /* The direction flag, across a call and a system call. */
        char from[8] = "1234567", to[8] = "";
        char *source = from + 6, *target = to + 6;
        long length = 7, result = 39;                       /* getpid */
        __asm__ volatile("std; jmp 1f; nop; 1: rep movsb; pushf; pop %%rdx; cld" : "+S"(source), "+D"(target), "+c"(length) : : "rdx", "memory", "cc");
        CHECK(!strcmp(to, "1234567") && source == from - 1);
        unsigned long after;
        __asm__ volatile("xor %%edx, %%edx; sub $1, %%edx; syscall; pushf; pop %1" : "+a"(result), "=r"(after) : : "rcx", "r11", "rdx", "cc", "memory");
        CHECK(result == getpid() && (after & FLAGS) == (1 | 4 | 16 | 128));
        __asm__ volatile("mov $0x4700, %%eax; sahf; jmp 1f; nop; 1: lahf; cmc; setc %%al; seto %%cl; movzx %%ah, %k0" : "=Q"(after) : : "rax", "rcx", "cc");
        CHECK((after & 0xd5) == 0x45);
    }
    return passed();
}
