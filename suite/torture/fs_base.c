/* The thread pointer read and changed by rdfsbase, wrfsbase and arch_prctl, with code in between that uses it.
 * build: -mfsgsbase */
#include "torture.h"
#include <asm/prctl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

static __thread long mine = 5;

int main(void)
{
    if (!(getauxval(AT_HWCAP2) & 2)) return skipped("no FSGSBASE");
    unsigned long base, asked, self;
    static unsigned long other[64];
    for (int i = 0; i < 2000; i++) {
        __asm__ volatile("rdfsbase %0; mov %%fs:0, %1" : "=r"(base), "=r"(self));
        CHECK(!syscall(SYS_arch_prctl, ARCH_GET_FS, &asked) && base == asked && base == self);
        CHECK(mine++ == 5 + i && (unsigned long)&mine < base);
        other[3] = i;
        __asm__ volatile("wrfsbase %1; jmp 1f; nop; 1: mov %%fs:24, %0; addq $2, %%fs:24; wrfsbase %2"
                         : "=&r"(asked) : "r"(other), "r"(base) : "memory", "cc");
        CHECK(asked == (unsigned long)i && other[3] == (unsigned long)i + 2);
    }
    return passed();
}
