/* Sorting records through a comparator whose branches nobody can predict (after OptiWISE's case 505.mcf, section
 * VI-A). With -DFIXED the comparator computes its result without branches.
 * args: elements (thousands), rounds */
#include "sort.h"

__attribute__((noipa)) static int compare(const struct record *a, const struct record *b)
{
    uint32_t a_time = a->time % 4, b_time = b->time % 4;
#ifdef FIXED
    int by_cost = (a->cost > b->cost) - (a->cost < b->cost);
    int by_time = (a_time > b_time) - (a_time < b_time);
    int by_id = (a->id > b->id) - (a->id < b->id);
    return 4 * by_cost + 2 * by_time + by_id;
#else
    if (a->cost > b->cost) return 1;
    if (a->cost < b->cost) return -1;
    if (a_time > b_time) return 1;
    if (a_time < b_time) return -1;
    if (a->id > b->id) return 1;
    if (a->id < b->id) return -1;
    return 0;
#endif
}

int main(int argc, char **argv)
{
    uint64_t h = sort_rounds(arg(argc, argv, 1, 100) * 1000, arg(argc, argv, 2, 10), compare);
    printf("comparator %016lx\n", (unsigned long)h);
    return 0;
}
