/* What every C kernel uses: a seeded generator and a checksum, so that
 * every kernel prints the same line on every machine for the same arguments. */
#ifndef KERNEL_H
#define KERNEL_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t rng_state = 88172645463325252ull;
static inline uint64_t rng(void)            /* xorshift64 */
{
    uint64_t x = rng_state;
    x ^= x << 13; x ^= x >> 7; x ^= x << 17;
    return rng_state = x;
}
static inline uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v; h *= 0x9E3779B97F4A7C15ull; return h ^ (h >> 29);
}
static inline long arg(int argc, char **argv, int i, long dflt)
{
    return i < argc ? atol(argv[i]) : dflt;
}
static inline void *must_alloc(size_t n)
{
    void *p = malloc(n);
    if (!p) { perror("malloc"); exit(1); }
    return p;
}
#endif
