/* Nested functions: the compiler writes a trampoline onto the executable stack, at the same address with
 * other contents each time.
 * build: -z execstack -Wno-trampolines */
#include "torture.h"

static long apply(long (*to)(long), long x) { return to(x); }

__attribute__((noinline)) static long one(long base)
{
    long adds(long x) { return x + base; }
    return apply(adds, 1);
}
__attribute__((noinline)) static long two(long base)
{
    long multiplies(long x) { return x * base; }
    return apply(multiplies, 3);
}

int main(void)
{
    for (long i = 0; i < 2000; i++) CHECK(one(i) == i + 1 && two(i) == 3 * i);
    return passed();
}
