/* A program of a few loops that take about the same time, in one of which `cargo xtask check diff` plants a little
 * more work: what `timewise diff` must name first.
 * args: rounds */
#include "kernel.h"

enum { CELLS = 4096 };

static uint64_t cells[CELLS];

__attribute__((noipa)) static uint64_t scramble(uint64_t h)
{
    for (int i = 0; i < CELLS; i++) h = (h ^ cells[i]) * 0x9e3779b97f4a7c15ull;
    return h;
}

__attribute__((noipa)) static uint64_t scatter(uint64_t h)
{
    for (int i = 0; i < CELLS; i++)
        h = cells[h % CELLS] + (h >> 7);
    return h;
}

__attribute__((noipa)) static uint64_t divide(uint64_t h)
{
    uint64_t sum = 0;
    for (int i = 0; i < CELLS; i++) sum += (h + cells[i]) / (cells[i] | 1);
    return sum;
}

__attribute__((noipa)) static void stir(uint64_t h)
{
    for (int i = 1; i < CELLS; i++) cells[i] = (cells[i - 1] ^ h) + (cells[i] << 1 | cells[i] >> 63);
}

int main(int argc, char **argv)
{
    long rounds = arg(argc, argv, 1, 5000);
    uint64_t h = 1;
    for (int i = 0; i < CELLS; i++) cells[i] = rng();
    for (long round = 0; round < rounds; round++) {
        h = scramble(h);
        h ^= scatter(h);
        h += divide(h);
        stir(h);
    }
    printf("planted %d\n", h != 0);
    return 0;
}
