/* A quicksort that has no branch on what its comparator says, so that the comparator's cost is its own. */
#ifndef SORT_H
#define SORT_H
#include "../kernels/kernel.h"

struct record { int cost; uint32_t time, id; };

typedef int (*compare_fn)(const struct record *, const struct record *);

/* Elements less than the pivot gather where they stand, the others in `spare`. */
__attribute__((noipa)) static void sort(struct record *of, long n, struct record *spare, compare_fn order)
{
    while (n > 1) {
        struct record pivot = of[n / 2];
        of[n / 2] = of[0];
        long less = 0, others = 0;
        for (long i = 1; i < n; i++) {
            int is_less = order(&of[i], &pivot) < 0;
            spare[others] = of[i];
            of[less] = of[i];
            less += is_less;
            others += !is_less;
        }
        of[less] = pivot;
        for (long i = 0; i < others; i++) of[less + 1 + i] = spare[i];
        sort(of + less + 1, others, spare, order);
        n = less;
    }
}

/* Sorts so many random records in each round; a checksum of all. */
static uint64_t sort_rounds(long n, long rounds, compare_fn order)
{
    struct record *records = must_alloc(n * sizeof *records), *spare = must_alloc(n * sizeof *records);
    uint64_t h = 0;
    for (long round = 0; round < rounds; round++) {
        for (long i = 0; i < n; i++) records[i] = (struct record){ rng() % 4, rng() >> 48, rng() >> 32 };
        sort(records, n, spare, order);
        for (long i = 0; i < n; i++) h = mix(h, records[i].id);
    }
    return h;
}
#endif
