/* Code in two segments of one file: what is told of the functions of one holds for none of the other. Recursion in the
 * first is charged once.
 * build: -no-pie -Wl,--section-start=.far=0x900000 */
#include "torture.h"

#define FAR(n)                                                                \
    static __attribute__((noinline, section(".far"))) int far##n(int x)       \
    {                                                                         \
        volatile int sum = n;                                                 \
        for (int i = 0; i < x % 7; i++) sum += i;                             \
        return sum;                                                           \
    }
FAR(0) FAR(1) FAR(2) FAR(3) FAR(4) FAR(5) FAR(6) FAR(7) FAR(8) FAR(9)

static __attribute__((noinline)) long fibonacci(int n)
{
    return n < 2 ? far1(n) % 2 + n : fibonacci(n - 1) + fibonacci(n - 2);
}

static int even(int n);

static __attribute__((noinline)) int odd(int n) { return n ? even(n - 1) : 0; }

static __attribute__((noinline)) int even(int n) { return n ? odd(n - 1) : far2(1) > 0; }

int main(void)
{
    int (*const far[])(int) = {far0, far1, far2, far3, far4, far5, far6, far7, far8, far9};
    int sum = 0;
    for (int i = 0; i < 10; i++) sum += far[i](i);
    CHECK(sum == 45 + 0 + 0 + 1 + 3 + 6 + 10 + 15 + 0 + 0 + 1);
    CHECK(fibonacci(15) == 610 + 987);
    CHECK(even(30));
    return passed();
}
