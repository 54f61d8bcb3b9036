/* A program that uses %gs itself: by arch_prctl and by wrgsbase, kept across system calls and signals.
 * build: -mfsgsbase */
#include "torture.h"
#include <asm/prctl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

static unsigned long own[64], second[64];
static void handler(int signal)
{
    unsigned long got;
    (void)signal;
    __asm__ volatile("mov %%gs:16, %0" : "=r"(got));
    CHECK(got == own[2]);
}

static void nothing(int signal) { (void)signal; }

int main(void)
{
    unsigned long got, base;
    CHECK(!syscall(SYS_arch_prctl, ARCH_GET_GS, &base) && base == 0);
    CHECK(!syscall(SYS_arch_prctl, ARCH_SET_GS, own));
    signal(SIGUSR1, handler);
    signal(SIGUSR2, nothing);
    for (unsigned long i = 0; i < 1000; i++) {
        own[2] = i;
        __asm__ volatile("mov %%gs:16, %0; addq $5, %%gs:16" : "=r"(got) : : "memory", "cc");
        CHECK(got == i && own[2] == i + 5);
        CHECK(!syscall(SYS_arch_prctl, ARCH_GET_GS, &base) && base == (unsigned long)own);
        if (i % 50 == 0) raise(SIGUSR1);
        if (getauxval(AT_HWCAP2) & 2) {
            second[2] = i * 3;
            __asm__ volatile("wrgsbase %1; jmp 1f; nop; 1: mov %%gs:16, %0; wrgsbase %2"
                             : "=&r"(got) : "r"(second), "r"(own));
            CHECK(got == i * 3);
        }
    }
    /* A selector instead of a base. */
    __asm__ volatile("mov %0, %%gs" : : "r"(0));
    CHECK(churn(1, 1000) == churn(1, 1000));
    raise(SIGUSR2);
    return passed();
}
