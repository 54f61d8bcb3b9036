// A hot loop of a few bytes that begins with a line of the instruction cache. PLANTED moves it across the border
// between two lines.

#include <stdio.h>

__attribute__((noipa)) static long spin(long rounds) {
    long a = 0, b = 0, c = 0;
    __asm__ volatile(".p2align 6\n"
#ifdef PLANTED
                     ".nops 57\n"
#endif
                     "1: add $1, %0\n"
                     "add $2, %1\n"
                     "add $3, %2\n"
                     "sub $1, %3\n"
                     "jnz 1b"
                     : "+r"(a), "+r"(b), "+r"(c), "+r"(rounds)
                     :
                     : "cc");
    return a + b + c;
}

int main(void) {
    printf("%ld\n", spin(200000));
    return 0;
}
