/* setjmp and longjmp: over many frames at once, and often to the same place.
 * build: -Wno-infinite-recursion */
#include "torture.h"
#include <setjmp.h>

static jmp_buf bottom, here;

__attribute__((noinline)) static long deep(long depth, long value)
{
    volatile long local = depth;
    if (!depth) longjmp(bottom, (int)value);
    return deep(depth - 1, value) + local;
}

__attribute__((noinline)) static void hop(int value) { longjmp(here, value); }

int main(void)
{
    for (volatile int i = 1; i < 1000; i++) {
        int value = setjmp(bottom);
        if (!value) deep(i, i);
        CHECK(value == i);
    }
    volatile int hops = 0;
    int value = setjmp(here);
    CHECK(value == hops);
    if (hops < 5000) hop(++hops);
    return passed();
}
