/* Sorting records through a comparator whose branches nobody can predict and which divides by what is always the
 * same, in a quicksort that has no such branch itself (after OptiWISE's case 505.mcf, section VI-A).
 * With -DFIXED the comparator computes its result without branches, and multiplies by the inverse instead.
 * args: elements (thousands), rounds, unit of time */
#include "../kernels/kernel.h"

struct record { int cost; uint32_t time, id; };

typedef int (*compare_fn)(const struct record *, const struct record *);

static uint32_t unit;
static uint64_t inverse;

/* Costs first, then times in whole units, then ids. */
__attribute__((noipa)) static int compare(const struct record *a, const struct record *b)
{
#ifdef FIXED
    /* Exact for times below 2^16. */
    uint64_t a_units = a->time * inverse >> 40, b_units = b->time * inverse >> 40;
    int by_cost = (a->cost > b->cost) - (a->cost < b->cost);
    int by_time = (a_units > b_units) - (a_units < b_units);
    int by_id = (a->id > b->id) - (a->id < b->id);
    return 4 * by_cost + 2 * by_time + by_id;
#else
    if (a->cost > b->cost) return 1;
    if (a->cost < b->cost) return -1;
    uint32_t a_units = a->time / unit, b_units = b->time / unit;
    if (a_units > b_units) return 1;
    if (a_units < b_units) return -1;
    if (a->id > b->id) return 1;
    if (a->id < b->id) return -1;
    return 0;
#endif
}

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

int main(int argc, char **argv)
{
    long n = arg(argc, argv, 1, 100) * 1000, rounds = arg(argc, argv, 2, 10);
    struct record *records = must_alloc(n * sizeof *records), *spare = must_alloc(n * sizeof *records);
    uint64_t h = 0;
    unit = arg(argc, argv, 3, 1000);
    inverse = ((1ull << 40) + unit - 1) / unit;
    for (long round = 0; round < rounds; round++) {
        for (long i = 0; i < n; i++) records[i] = (struct record){ rng() % 4, rng() >> 48, rng() >> 32 };
        sort(records, n, spare, compare);
        for (long i = 0; i < n; i++) h = mix(h, records[i].id);
    }
    printf("comparator %016lx\n", (unsigned long)h);
    return 0;
}
