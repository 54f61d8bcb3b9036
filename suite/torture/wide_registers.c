/* Vector state: AVX-512 and mask registers, x87 and MXCSR modes kept across calls, system calls and signals;
 * xsave and xrstor by the program itself. Only what the processor has. */
#include "torture.h"
#include <cpuid.h>
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;
static void handler(int signal)
{
    (void)signal;
    ticks++;
    __asm__ volatile("pxor %%xmm0, %%xmm0; pcmpeqd %%xmm1, %%xmm1; fninit; fldpi" : : : "xmm0", "xmm1");
}

void elsewhere(void);
__attribute__((noinline)) void elsewhere(void) { __asm__ volatile("nop"); }

__attribute__((target("avx512f,avx512bw"))) static void wide(long rounds)
{
    uint64_t in[3][8], out[3][8], mask = 0x5a5a, mask_out = 0;
    for (int i = 0; i < 24; i++) in[i / 8][i % 8] = i * 0x0101010101010101;
    for (long r = 0; r < rounds; r++) {
        long call = 39;
        memset(out, 0, sizeof out);
        __asm__ volatile("vmovdqu64 %2, %%zmm5; vmovdqu64 64+%2, %%zmm17; vmovdqu64 128+%2, %%zmm31; kmovq %3, %%k3\n"
                         "vpaddq %%zmm5, %%zmm17, %%zmm17%{%%k3%}; jmp 1f; nop; 1: syscall\n"
                         "call elsewhere; vmovdqu64 %%zmm5, %0; vmovdqu64 %%zmm17, 64+%0; vmovdqu64 %%zmm31, 128+%0; kmovq %%k3, %1; vzeroupper"
                         : "=m"(out), "=r"(mask_out), "+m"(in), "+r"(mask), "+a"(call)
                         : : "rcx", "r11", "rdx", "rsi", "rdi", "r8", "r9", "r10", "memory", "cc", "xmm5", "xmm17", "xmm31", "k3");
        CHECK(call == getpid() && mask_out == mask && !memcmp(in[0], out[0], 64) && !memcmp(in[2], out[2], 64));
        for (int i = 0; i < 8; i++) CHECK(out[1][i] == in[1][i] + (mask >> i & 1 ? in[0][i] : 0));
    }
}

int main(void)
{
    signal(SIGALRM, handler);
    struct itimerval every = {{0, 500}, {0, 500}};
    CHECK(!setitimer(ITIMER_REAL, &every, 0));
    unsigned mode, control = 0x7f80;                        /* round towards zero */
    unsigned short x87 = 0x0c7f, x87_now;
    __asm__ volatile("ldmxcsr %0; fldcw %1" : : "m"(control), "m"(x87));
    for (int i = 0; i < 300 || ticks < 100; i++) {
        double third;
        long double deep;
        __asm__ volatile("fldpi; fld1; jmp 1f; nop; 1: faddp; fstpt %0" : "=m"(deep));
        CHECK(deep > 4.14L && deep < 4.15L);
        volatile double one = 1, three = 3;
        third = one / three;
        CHECK(third * 3 < 1);
        churn(i, 2000);
        __asm__ volatile("stmxcsr %0; fnstcw %1" : "=m"(mode), "=m"(x87_now));
        CHECK((mode & 0x6000) == 0x6000 && x87_now == x87);
    }
    if (__builtin_cpu_supports("avx512bw")) wide(3000);
    unsigned a, b, c, d;
    __cpuid_count(13, 0, a, b, c, d);
    static __attribute__((aligned(64))) unsigned char area[16384];
    __cpuid(1, a, mode, c, d);
    if (c & 1u << 27 && b <= sizeof area) {                 /* OSXSAVE */
        unsigned low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        CHECK((low & 3) == 3);
        for (int i = 0; i < 500; i++) {
            unsigned long got, value = i * 0x123456789;
            __asm__ volatile("movq %2, %%xmm9; mov $7, %%eax; xor %%edx, %%edx; xsave64 %1; pxor %%xmm9, %%xmm9; jmp 1f; nop\n"
                             "1: mov $7, %%eax; xor %%edx, %%edx; xrstor64 %1; movq %%xmm9, %0"
                             : "=r"(got), "+m"(area) : "r"(value) : "rax", "rdx", "xmm9", "memory");
            CHECK(got == value);
        }
    }
    return passed();
}
