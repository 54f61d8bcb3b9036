/* The 8-bit high registers, which have no form with a REX prefix, next to code that needs registers. */
#include "torture.h"

int main(void)
{
    for (unsigned i = 0; i < 3000; i++) {
        unsigned a = i * 2654435761u, b = a ^ 0x5a5a;
        unsigned sum = (((a >> 8) + (b >> 8)) & 255) << 8, carry;
        unsigned long ra = a, rb = b, rc = 0, rd = 0;
        __asm__ volatile("add %%bh, %%ah; setc %%ch; mov %%ah, %%dh; xchg %%al, %%dl; rol $3, %%bh" : "+a"(ra), "+b"(rb), "+c"(rc), "+d"(rd) : : "cc");
        carry = ((a >> 8) & 255) + ((b >> 8) & 255) > 255;
        CHECK((ra & 0xff00) == sum && rc == carry << 8 && rd == (sum | (a & 255)) && (ra & 255) == 0);
        unsigned high = (b >> 8) & 255;
        CHECK(((rb >> 8) & 255) == ((high << 3 | high >> 5) & 255) && (rb & 255) == (b & 255));
        unsigned short dividend = i + 1;
        unsigned char divisor = (i & 127) + 64;
        ra = dividend;
        if (dividend / divisor < 256) {
            __asm__ volatile("divb %1" : "+a"(ra) : "q"(divisor) : "cc");
            CHECK((ra & 255) == dividend / divisor && ra >> 8 == dividend % divisor);
        }
        unsigned char memory = i;
        rc = 0xaaaa, rd = i & 1;
        __asm__ volatile("test %%edx, %%edx; jz 1f; mov %2, %%ch; jmp 2f; 1: not %%ch; 2: movzbl %%ch, %%edx; cmp $0x55, %%ch; sete %%cl"
                         : "+c"(rc), "+d"(rd) : "m"(memory) : "cc");
        CHECK(rd == (i & 1 ? (unsigned char)i : 0x55u) && (rc & 255) == (rd == 0x55));
    }
    return passed();
}
