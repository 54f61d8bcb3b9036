/* Every kind of operand relative to the program counter, with immediates of each size behind the
 * displacement, as source, destination, branch target and address. */
#include "torture.h"

static volatile struct { long q; int d; short w; char b; } at __asm__("at") __attribute__((used));
static __attribute__((aligned(32), used)) float vector[8] __asm__("vector_at") = {1, 2, 3, 4, 5, 6, 7, 8};
static __attribute__((aligned(16), used)) long pair[2] __asm__("pair_at");
static long next(long x) { return x + 1; }
static long (*pointer)(long) __asm__("pointer_at") __attribute__((used)) = next;

long by_pointer(long x);
__asm__(".text; by_pointer: sub $8, %rsp; call *pointer_at(%rip); add $8, %rsp; mov %rax, %rdi; jmp *pointer_at(%rip)");

int main(void)
{
    for (long i = 1; i < 2000; i++) {
        long got = 0, flags = 0;
        __asm__ volatile("movq $0x12345678, at(%%rip); movl $0x11223344, 8+at(%%rip); movw $0x5566, 12+at(%%rip); movb $0x77, 14+at(%%rip)" : : : "memory");
        CHECK(at.q == 0x12345678 && at.d == 0x11223344 && at.w == 0x5566 && at.b == 0x77);
        __asm__ volatile("cmpq $0x12345678, at(%%rip); sete %b0; cmpb $0x77, 14+at(%%rip); setne %b1" : "+q"(got), "+q"(flags) : : "cc");
        CHECK(got == 1 && flags == 0);
        __asm__ volatile("addq $5, at(%%rip); mov at(%%rip), %0; lea at(%%rip), %1" : "=r"(got), "=r"(flags) : : "cc", "memory");
        CHECK(got == 0x1234567d && flags == (long)&at);
        __asm__ volatile("xchg %0, at(%%rip); incl 8+at(%%rip); shlw $3, 12+at(%%rip); imul $100, at(%%rip), %1" : "+r"(i), "=r"(flags) : : "cc", "memory");
        CHECK(i == 0x1234567d && flags == at.q * 100 && at.d == 0x11223345 && at.w == (short)(0x5566 << 3));
        i = at.q;
        __asm__ volatile("lock xaddq %0, at(%%rip); push at(%%rip); pop %1" : "+r"(got), "=r"(flags) : : "cc", "memory");
        CHECK(got == i && flags == i + 0x1234567d);
        __asm__ volatile("pushq $9; popq at(%%rip); testb $1, at(%%rip); setnz %b0; btq $3, at(%%rip); setc %b1" : "+q"(got), "+q"(flags) : : "cc", "memory");
        CHECK(at.q == 9 && (got & 1) && (flags & 1));
        float sum[4];
        __asm__ volatile("movaps vector_at(%%rip), %%xmm0; addps 16+vector_at(%%rip), %%xmm0; shufps $0x1b, vector_at(%%rip), %%xmm0; movups %%xmm0, %0" : "=m"(sum) : : "xmm0");
        CHECK(sum[0] == 12 && sum[1] == 10 && sum[2] == 2 && sum[3] == 1);
        pair[0] = i, pair[1] = -i;
        unsigned char equal;
        __asm__ volatile("lock cmpxchg16b pair_at(%%rip); sete %0" : "=q"(equal) : "a"(i), "d"(-i), "b"(1L), "c"(2L) : "cc", "memory");
        CHECK(equal && pair[0] == 1 && pair[1] == 2);
        CHECK(by_pointer(i) == i + 2);
        __asm__ volatile("xor %%eax, %%eax; lea 1f(%%rip), %%rdx; jmp *%%rdx; ud2; 1: mov 2f(%%rip), %%eax; jmp 3f; 2: .long 4711; 3: mov %%rax, %0" : "=r"(got) : : "rax", "rdx", "cc");
        CHECK(got == 4711);
        __asm__ volatile("movzbl 14+at(%%rip), %k0; movsbq 14+at(%%rip), %1; cvtsi2sdq at(%%rip), %%xmm0" : "=r"(got), "=r"(flags) : : "xmm0");
        CHECK(got == 0x77 && flags == 0x77);
    }
    return passed();
}
