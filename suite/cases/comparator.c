/* Sorting records through a comparator whose branches nobody can predict, by a quicksort that has no such branch
 * itself, but divides by the size of an element to count elements (after OptiWISE's case 505.mcf, section VI-A).
 * With -DFIXED the comparator computes its result without branches, and the division by a size that is always
 * the same is a multiplication by its inverse.
 * args: elements (thousands), rounds */
#include "../kernels/kernel.h"

struct record { int cost, time; unsigned id, of[3]; };

typedef int (*compare_fn)(const void *, const void *);

__attribute__((noipa)) static int compare(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
#ifdef FIXED
    int by_cost = (a->cost > b->cost) - (a->cost < b->cost);
    int by_time = (a->time > b->time) - (a->time < b->time);
    int by_id = (a->id > b->id) - (a->id < b->id);
    return 4 * by_cost + 2 * by_time + by_id;
#else
    if (a->cost > b->cost) return 1;
    if (a->cost < b->cost) return -1;
    if (a->time > b->time) return 1;
    if (a->time < b->time) return -1;
    if (a->id > b->id) return 1;
    if (a->id < b->id) return -1;
    return 0;
#endif
}

/* Elements between two addresses. */
static inline size_t elements(const char *low, const char *high, size_t size, uint64_t inverse)
{
#ifdef FIXED
    /* Exact for multiples of the size below 2^40 / size. */
    (void)size;
    return ((unsigned __int128)(uint64_t)(high - low) * inverse) >> 40;
#else
    (void)inverse;
    return (size_t)(high - low) / size;
#endif
}

static inline void move(char *to, const char *from)
{
    *(struct record *)to = *(const struct record *)from;
}

/* Elements less than the pivot gather where they stand, the others in `spare`. */
__attribute__((noipa)) static void sort(char *low, char *end, char *spare, size_t size, uint64_t inverse, compare_fn order)
{
    for (size_t n; (n = elements(low, end, size, inverse)) > 1;) {
        char *left = low, *right = spare, *middle = low + n / 2 * size;
        struct record pivot;
        move((char *)&pivot, middle);
        move(middle, low);
        for (char *next = low + size; next < end; next += size) {
            size_t less = order(next, &pivot) < 0;
            move(right, next);
            move(left, next);
            left += size & -less;
            right += size & -!less;
        }
        move(left, (char *)&pivot);
        size_t others = elements(spare, right, size, inverse);
        for (size_t i = 0; i < others; i++) move(left + (i + 1) * size, spare + i * size);
        sort(left + size, end, spare, size, inverse, order);
        end = left;
    }
}

int main(int argc, char **argv)
{
    long n = arg(argc, argv, 1, 100) * 1000, rounds = arg(argc, argv, 2, 10);
    struct record *records = must_alloc(n * sizeof *records), *spare = must_alloc(n * sizeof *records);
    uint64_t h = 0;
    for (long round = 0; round < rounds; round++) {
        for (long i = 0; i < n; i++)
            records[i] = (struct record){ rng() % 4, rng() % 4, rng(), { 0 } };
        size_t size = sizeof *records;
        sort((char *)records, (char *)(records + n), (char *)spare, size, ((1ull << 40) + size - 1) / size, compare);
        for (long i = 0; i < n; i++) h = mix(h, records[i].id);
    }
    printf("comparator %016lx\n", (unsigned long)h);
    return 0;
}
