/* A timer signal every 30 us into all kinds of code: indirect calls and jumps, returns, recursion, string
 * instructions, counted loops, flags and vectors that live long, floating point. The handler ruins every register
 * that it may, and checks what the frame says. Each piece of work is done with and without the storm. */
#include "torture.h"
#include <signal.h>
#include <time.h>
#include <ucontext.h>

static volatile sig_atomic_t ticks, wrong;
static char *low, *high;            /* of the stack that the work runs on */

static void storm(int signal, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    greg_t *r = c->uc_mcontext.gregs;
    unsigned char *rip = (unsigned char *)r[REG_RIP];
    if (signal != SIGRTMIN + 3 || info->si_code != SI_TIMER) wrong = 1;
    if ((char *)r[REG_RSP] < low || (char *)r[REG_RSP] > high) wrong = 2;
    if (r[REG_EFL] & 0x400) wrong = 3;
    /* What is executed is at the address that the frame names, not a copy of it: it can be read as data. */
    if (rip[0] == 0x65 && rip[1] == 0x48 && (rip[3] & 0xc7) == 4 && rip[4] == 0x25) wrong = 4;
    if (sigismember(&c->uc_sigmask, SIGRTMIN + 3)) wrong = 5;
    ticks++;
    __asm__ volatile("pxor %%xmm0,%%xmm0; pxor %%xmm7,%%xmm7; pxor %%xmm15,%%xmm15; fninit; fld1; fldpi;"
                     "xor %%ecx,%%ecx; xor %%edx,%%edx; xor %%r8d,%%r8d; xor %%r9d,%%r9d; xor %%r10d,%%r10d;"
                     "xor %%r11d,%%r11d; xor %%esi,%%esi; xor %%edi,%%edi; xor %%eax,%%eax; fninit"
                     : : : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "xmm0", "xmm7", "xmm15");
}

typedef uint64_t work(uint64_t);

__attribute__((noinline)) static uint64_t one(uint64_t x) { return x * 3 + 1; }
__attribute__((noinline)) static uint64_t two(uint64_t x) { return x ^ x >> 7; }
__attribute__((noinline)) static uint64_t three(uint64_t x) { return x + (x << 9); }

static uint64_t calls(uint64_t x)
{
    static work *const table[] = {one, two, three, two};
    for (int i = 0; i < 40000; i++) x = table[x & 3](x) + i;
    return x;
}

static uint64_t jumps(uint64_t x)
{
    static void *const table[] = {&&a, &&b, &&c, &&d};
    int left = 60000;
#define NEXT do { if (!left--) return x; goto *table[x >> 60 & 3]; } while (0)
    NEXT;
a:  x = x * 5 + 1; NEXT;
b:  x ^= x << 13; NEXT;
c:  x ^= x >> 11; NEXT;
d:  x += 0x9e3779b97f4a7c15; NEXT;
}

__attribute__((noinline)) static uint64_t fibonacci(uint64_t n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
static uint64_t recursion(uint64_t x) { return fibonacci(20) + x; }

static uint64_t strings(uint64_t x)
{
    static char from[3000], to[3000];
    for (int i = 0; i < 60; i++) {
        void *d = to, *s = from;
        size_t n = sizeof to;
        from[i] = x + i;
        __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
        d = to, n = sizeof to;
        uint8_t found = 0;
        __asm__ volatile("repne scasb" : "+D"(d), "+c"(n) : "a"(found) : "cc", "memory");
        x = x * 31 + n + to[i];
    }
    return x;
}

static uint64_t flags(uint64_t x)
{
    uint64_t low_word = x, high_word = ~x, n = 30000;
    __asm__ volatile("clc\n1: adc %3,%0\n lea 3(%3),%3\n adc %3,%1\n dec %2\n jnz 1b"
                     : "+r"(low_word), "+r"(high_word), "+r"(n), "+r"(x) : : "cc");
    n = 20000;
    __asm__ volatile("1: lea 7(%0),%0\n loop 1b" : "+r"(low_word), "+c"(n));
    return low_word ^ high_word;
}

static uint64_t callee(uint64_t x)
{
    /* Returns that discard, and a call by memory. */
    uint64_t n = 15000;
    __asm__ volatile("1: push %0\n call 2f\n jmp 3f\n2: add 8(%%rsp),%0\n rol $5,%0\n ret $8\n"
                     "3: dec %1\n jnz 1b"
                     : "+r"(x), "+r"(n) : : "cc", "memory");
    return x;
}

static uint64_t floats(uint64_t x)
{
    long double sum = x % 7;
    double a[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int i = 1; i < 8000; i++) {
        sum += 1.0L / i;
        for (int k = 0; k < 8; k++) a[k] = a[k] * 1.0001 + (double)sum;
    }
    uint64_t bits;
    memcpy(&bits, &a[3], 8);
    return bits;
}

__attribute__((noinline)) static uint64_t all(void)
{
    work *const works[] = {calls, jumps, recursion, strings, flags, callee, floats};
    uint64_t x = 12345;
    for (int round = 0; round < 6; round++)
        for (unsigned i = 0; i < sizeof works / sizeof *works; i++) x = works[i](x) * 0x2545f4914f6cdd1d + i;
    return x;
}

int main(void)
{
    high = (char *)__builtin_frame_address(0) + 4096;
    low = high - (1 << 20);
    uint64_t quiet = all();
    struct sigaction action = {.sa_sigaction = storm, .sa_flags = SA_SIGINFO | SA_RESTART};
    CHECK(!sigaction(SIGRTMIN + 3, &action, 0));
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
    struct itimerspec often = {{0, 30000}, {0, 30000}}, never = {{0, 0}, {0, 0}};
    timer_t timer;
    CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer) && !timer_settime(timer, 0, &often, 0));
    for (int i = 0; i < 4; i++) CHECK(all() == quiet);
    while (ticks < 500) CHECK(all() == quiet);
    CHECK(!timer_settime(timer, 0, &never, 0) && wrong == 0);
    return passed();
}
