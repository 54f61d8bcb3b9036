/* loop, loope, loopne, jrcxz and jecxz: branches by rcx or ecx, 8-bit displacements only, flags untouched. */
#include "torture.h"

int main(void)
{
    for (long i = 1; i < 300; i++) {
        long count = i, rounds = 0;
        __asm__ volatile("stc; 1: lea 1(%1), %1; loop 1b; jc 2f; mov $-1, %1; 2:" : "+c"(count), "+r"(rounds) : : "cc");
        CHECK(count == 0 && rounds == i);

        count = i, rounds = 0;
        __asm__ volatile("1: lea 1(%1), %1; cmp $7, %1; loopne 1b" : "+c"(count), "+r"(rounds) : : "cc");
        CHECK(rounds == (i < 7 ? i : 7) && count == i - rounds);

        count = i, rounds = 0;
        __asm__ volatile("1: lea 1(%1), %1; test $8, %b1; loope 1b" : "+c"(count), "+q"(rounds) : : "cc");
        CHECK(rounds == (i < 8 ? i : 8) && count == i - rounds);

        count = i, rounds = 0;
        __asm__ volatile("1: jrcxz 2f; lea 1(%1), %1; lea -1(%0), %0; jmp 1b; 2:" : "+c"(count), "+r"(rounds));
        CHECK(count == 0 && rounds == i);

        count = (i << 32) + 3, rounds = 0;                  /* ecx becomes 0, rcx does not */
        __asm__ volatile("1: jecxz 2f; lea 1(%1), %1; lea -1(%0), %0; jmp 1b; 2:" : "+c"(count), "+r"(rounds));
        CHECK(count == i << 32 && rounds == 3);

        count = 3, rounds = 0;                              /* with a 32-bit counter: addr32 loop */
        __asm__ volatile("1: lea 1(%1), %1; addr32 loop 1b" : "+c"(count), "+r"(rounds) : : "cc");
        CHECK(count == 0 && rounds == 3);
    }
    return passed();
}
