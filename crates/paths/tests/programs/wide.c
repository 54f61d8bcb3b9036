/* A function that goes 1,200 ways in the middle: of its ten million paths there are numbers for all, but what is added to
 * get them is more than a register holds. */
#include <stdint.h>
#include <stdio.h>

static volatile int right;

#define WAY(n)                                                                                                         \
    case n:                                                                                                            \
        __asm__ volatile("" : "+r"(sum));                                                                              \
        sum ^= 3 * (n);                                                                                                \
        break;
#define TEN(n)                                                                                                         \
    WAY(n) WAY(n + 1) WAY(n + 2) WAY(n + 3) WAY(n + 4) WAY(n + 5) WAY(n + 6) WAY(n + 7) WAY(n + 8) WAY(n + 9)
#define HUNDRED(n)                                                                                                     \
    TEN(n) TEN(n + 10) TEN(n + 20) TEN(n + 30) TEN(n + 40) TEN(n + 50) TEN(n + 60) TEN(n + 70) TEN(n + 80) TEN(n + 90)
#define TEST(n)                                                                                                        \
    if (bits >> (n) & 1)                                                                                               \
        sum += n;                                                                                                      \
    else                                                                                                               \
        right = n;

__attribute__((noinline)) static long wide(uint32_t bits, int way) {
    long sum = 0;
    TEST(20)
    switch (way) {
        HUNDRED(0) HUNDRED(100) HUNDRED(200) HUNDRED(300) HUNDRED(400) HUNDRED(500)
        HUNDRED(600) HUNDRED(700) HUNDRED(800) HUNDRED(900) HUNDRED(1000) HUNDRED(1100)
    }
    TEST(0) TEST(1) TEST(2) TEST(3) TEST(4) TEST(5) TEST(6) TEST(7) TEST(8) TEST(9) TEST(10) TEST(11)
    return sum;
}

int main(void) {
    uint32_t bits = 1;
    long sum = 0;
    for (int i = 0; i < 6000; i++) {
        bits = bits * 1664525 + 1013904223;
        sum += wide(bits ^ bits >> 11, i % 1200);
    }
    printf("%ld\n", sum);
    return 0;
}
