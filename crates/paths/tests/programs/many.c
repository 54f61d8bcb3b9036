/* A function with more than 2 to the 80 paths, taken in ways that hardly ever repeat. */
#include <stdint.h>
#include <stdio.h>

static volatile int right;

#define TEST(n)                                                                                                        \
    if (bits >> ((n) * 7 % 61) & 1)                                                                                    \
        sum += n;                                                                                                      \
    else                                                                                                               \
        right = n;
#define TESTS(n) TEST(n) TEST(n + 1) TEST(n + 2) TEST(n + 3) TEST(n + 4) TEST(n + 5) TEST(n + 6) TEST(n + 7)

__attribute__((noinline)) static long many(uint64_t bits) {
    long sum = 0;
    TESTS(0) TESTS(8) TESTS(16) TESTS(24) TESTS(32) TESTS(40) TESTS(48) TESTS(56) TESTS(64) TESTS(72)
    return sum;
}

int main(void) {
    uint64_t bits = 1;
    long sum = 0;
    for (int i = 0; i < 3000; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        sum += many(bits ^ bits >> 29);
    }
    printf("%ld\n", sum);
    return 0;
}
