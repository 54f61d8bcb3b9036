/* Sorting records by their times in whole units, through a comparator that divides by what is always the same
 * (after the division in OptiWISE's case 505.mcf, section VI-A). With -DFIXED it multiplies by the inverse.
 * args: elements (thousands), rounds, unit */
#include "sort.h"

static uint32_t unit;
static uint64_t inverse;

__attribute__((noipa)) static int compare(const struct record *a, const struct record *b)
{
#ifdef FIXED
    /* Exact for times below 2^16. */
    uint64_t a_units = a->time * inverse >> 40, b_units = b->time * inverse >> 40;
#else
    uint64_t a_units = a->time / unit, b_units = b->time / unit;
#endif
    if (a_units > b_units) return 1;
    if (a_units < b_units) return -1;
    if (a->id > b->id) return 1;
    if (a->id < b->id) return -1;
    return 0;
}

int main(int argc, char **argv)
{
    unit = arg(argc, argv, 3, 1000);
    inverse = ((1ull << 40) + unit - 1) / unit;
    uint64_t h = sort_rounds(arg(argc, argv, 1, 100) * 1000, arg(argc, argv, 2, 10), compare);
    printf("units %016lx\n", (unsigned long)h);
    return 0;
}
