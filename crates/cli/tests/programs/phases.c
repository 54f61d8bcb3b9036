// Two phases: divisions that wait for each other, so many rounds, and then as many rounds of additions that do not.
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned long divide(unsigned long rounds) {
    volatile unsigned long divisor = 3;
    unsigned long value = ~0ul, by = divisor;
    for (unsigned long round = 0; round < rounds; round++)
        value = (value / by) | 1ul << 63;
    return value;
}

__attribute__((noinline)) static unsigned long add(unsigned long rounds) {
    unsigned long one = 0, other = 1;
    for (unsigned long round = 0; round < rounds; round++) {
        one += round;
        other ^= round;
        __asm__ volatile("" : "+r"(one), "+r"(other));
    }
    return one + other;
}

int main(int count, char **arguments) {
    unsigned long rounds = count > 1 ? strtoul(arguments[1], NULL, 0) : 1000;
    printf("%lu\n", divide(rounds) + add(rounds));
    return 0;
}
