/* Sorting records through a comparator whose branches nobody can predict, in a quicksort that divides by the
 * size of an element to find its middle (after OptiWISE's case 505.mcf, section VI-A).
 * With -DFIXED the comparator computes its result without branches, and the division by a size that is always
 * the same is a multiplication by its inverse.
 * args: elements (thousands), rounds */
#include "../kernels/kernel.h"
#include <string.h>

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
    return a->id > b->id ? 1 : -(a->id < b->id);
#endif
}

static void swap(char *a, char *b, size_t size)
{
    struct record moved;
    memcpy(&moved, a, size);
    memcpy(a, b, size);
    memcpy(b, &moved, size);
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

__attribute__((noipa)) static void sort(char *low, char *high, size_t size, uint64_t inverse, compare_fn order)
{
    while (high > low) {
        char pivot[sizeof(struct record)];
        memcpy(pivot, low + elements(low, high, size, inverse) / 2 * size, size);
        char *left = low, *right = high;
        while (left <= right) {
            while (order(left, pivot) < 0) left += size;
            while (order(right, pivot) > 0) right -= size;
            if (left <= right) {
                swap(left, right, size);
                left += size;
                right -= size;
            }
        }
        if (right - low < high - left) {
            sort(low, right, size, inverse, order);
            low = left;
        } else {
            sort(left, high, size, inverse, order);
            high = right;
        }
    }
}

int main(int argc, char **argv)
{
    long n = arg(argc, argv, 1, 100) * 1000, rounds = arg(argc, argv, 2, 10);
    struct record *records = must_alloc(n * sizeof *records);
    uint64_t h = 0;
    for (long round = 0; round < rounds; round++) {
        for (long i = 0; i < n; i++)
            records[i] = (struct record){ rng() % 4, rng() % 4, rng(), { 0 } };
        size_t size = sizeof *records;
        sort((char *)records, (char *)(records + n - 1), size, ((1ull << 40) + size - 1) / size, compare);
        for (long i = 0; i < n; i++) h = mix(h, records[i].id);
    }
    printf("comparator %016lx\n", (unsigned long)h);
    return 0;
}
