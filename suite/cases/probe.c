/* Probing a table far larger than the caches, between stretches of work that are too long to overlap with the
 * load (after OptiWISE's case 531.deepsjeng, section VI-B). The size of the table is known only at run time, so
 * that finding a slot divides.
 * With -DFIXED the slot of the next position is computed, without a division, and prefetched before the work on
 * the present one.
 * args: positions (thousands), table (MiB), work for each */
#include "../kernels/kernel.h"

struct slot { uint64_t key, value; };

static struct slot *table;
static uint64_t slots;

static inline uint64_t key_of(uint64_t position)
{
    uint64_t key = position * 0x9e3779b97f4a7c15ull;
    key = (key ^ key >> 32) * 0xd6e8feb86659fd93ull;
    return key ^ key >> 29;
}

static inline struct slot *slot_of(uint64_t key)
{
#ifdef FIXED
    /* As even as the remainder: the high half of the product. */
    return &table[(unsigned __int128)key * slots >> 64];
#else
    return &table[key % slots];
#endif
}

/* What the table remembers of a position. */
__attribute__((noipa)) static uint64_t probe(uint64_t position)
{
    uint64_t key = key_of(position);
    return slot_of(key)->value ^ key;
}

/* Work in four chains, so that little of what follows it is begun before its end. */
__attribute__((noipa)) static uint64_t evaluate(uint64_t value, long work)
{
    uint64_t a = value, b = value + 1, c = value + 2, d = value + 3;
    for (long i = 0; i < work; i++) {
        a = (a ^ a >> 31) * 0xbf58476d1ce4e5b9ull;
        b = (b ^ b >> 30) * 0xbf58476d1ce4e5b9ull;
        c = (c ^ c >> 29) * 0xbf58476d1ce4e5b9ull;
        d = (d ^ d >> 28) * 0xbf58476d1ce4e5b9ull;
    }
    return a ^ b ^ c ^ d;
}

int main(int argc, char **argv)
{
    long positions = arg(argc, argv, 1, 1000) * 1000, work = arg(argc, argv, 3, 100);
    slots = arg(argc, argv, 2, 256) * (1 << 20) / sizeof *table;
    table = must_alloc(slots * sizeof *table);
    for (uint64_t i = 0; i < slots; i++) table[i].value = i * 0x2545f4914f6cdd1dull;
    uint64_t h = 0;
    for (long i = 0; i < positions; i++) {
#ifdef FIXED
        __builtin_prefetch(slot_of(key_of(i + 1)));
#endif
        h = mix(h, evaluate(probe(i) ^ h, work));
    }
    printf("probe %016lx\n", (unsigned long)h);
    return 0;
}
