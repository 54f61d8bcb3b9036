/* Works for seconds of CPU time, the last of them elsewhere. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { EARLY_S = 3, ALL_S = 4 };

static int is_before(int seconds)
{
    return clock() < (clock_t)seconds * CLOCKS_PER_SEC;
}

__attribute__((noinline)) uint64_t early(uint64_t x)
{
    for (int i = 0; i < 1000000; i++)
        x = x & 1 ? x * 3 + i : x / 2;
    return x;
}

__attribute__((noinline)) uint64_t late(uint64_t x)
{
    for (int i = 0; i < 1000000; i++)
        x = x & 1 ? x * 5 + i : x / 2;
    return x;
}

int main(void)
{
    uint64_t x = 1;
    while (is_before(EARLY_S))
        x = early(x);
    while (is_before(ALL_S))
        x = late(x);
    puts("done");
    return x == 1;
}
