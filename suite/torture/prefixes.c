/* Repeated string instructions forwards and backwards, with a count of zero, ended by a comparison; and
 * prefixes that mean nothing, or mean it only to some processors. */
#include "torture.h"

int main(void)
{
    char from[256], to[256];
    for (int i = 0; i < 256; i++) from[i] = i;
    for (long n = 0; n < 250; n++) {
        char *s = from, *d = to;
        long count = n;
        memset(to, 77, sizeof to);
        __asm__ volatile("rep movsb" : "+S"(s), "+D"(d), "+c"(count) : : "memory");
        CHECK(s == from + n && d == to + n && count == 0 && !memcmp(from, to, n) && to[n] == 77);
        s = from, d = to, count = n + 1;
        __asm__ volatile("repe cmpsb" : "+S"(s), "+D"(d), "+c"(count) : : "cc", "memory");
        CHECK(s - from == n + 1);
        d = from, count = 256;
        __asm__ volatile("repne scasb" : "+D"(d), "+c"(count) : "a"(n) : "cc", "memory");
        CHECK(d == from + n + 1 && count == 255 - n);
        long *words = (long *)to;
        d = to, count = n / 8;
        __asm__ volatile("rep stosq" : "+D"(d), "+c"(count) : "a"(n) : "memory");
        CHECK(d == to + n / 8 * 8 && (n < 8 || words[n / 8 - 1] == n));
        s = from + n, d = to + n, count = n;
        __asm__ volatile("std; rep movsb; cld" : "+S"(s), "+D"(d), "+c"(count) : : "memory", "cc");
        CHECK(!memcmp(from + 1, to + 1, n));
        s = from;
        unsigned char got = 0;
        __asm__ volatile("lodsb; movb %%al, %1" : "+S"(s), "=m"(got) : : "rax", "memory");
        CHECK(s == from + 1 && got == 0);
        /* Hints and padding. */
        long sum = n;
        __asm__ volatile("test %0, %0; .byte 0x2e; jz 1f; inc %0; 1: .byte 0x3e; jnz 2f; dec %0; 2: .byte 0x66, 0x66, 0x66, 0x0f, 0x1f, 0x44, 0, 0\n"
                         "rep nop; .byte 0xf3, 0x0f, 0x1e, 0xfa; .byte 0xf2; jmp 3f; ud2; 3: .byte 0xf2, 0xf0; incq %1; .byte 0xf3, 0xf0; decq %1"
                         : "+r"(sum) : "m"(*words) : "cc", "memory");
        CHECK(sum == (n ? n + 1 : -1));
        __asm__ volatile("lea 4f(%%rip), %%rax; .byte 0x3e; jmp *%%rax; ud2; 4:" : : : "rax");      /* notrack */
        /* tzcnt is bsf, lzcnt is bsr, to processors that do not know them. */
        long zeros;
        __asm__ volatile("rep bsf %1, %0" : "=r"(zeros) : "r"(1L << (n & 63)) : "cc");
        CHECK(zeros == (n & 63));
        unsigned low = 0;
        __asm__ volatile("movl $-1, %0; .byte 0x67, 0x8d, 0x40, 0xff" : "+a"(low));
        CHECK(low == 0xfffffffe);
    }
    return passed();
}
