/* Micro-benchmark in the shape of OptiWISE's Figure 1: an outer loop whose body
 * does one load that misses the caches, followed by an inner loop of 256 cheap
 * iterations. By samples the inner loop's many cheap instructions and the one
 * load compete; by CPI the load stands out (few executions, many cycles each).
 * Ground truth for a test: load_miss() line executes N times, the inner body
 * 256*N times, to the instruction.
 * args: outer iterations, table size in MiB */
#include "kernel.h"
#define INNER 256

int main(int argc, char **argv)
{
    long n = arg(argc, argv, 1, 500000), mib = arg(argc, argv, 2, 512);
    uint64_t slots = ((uint64_t)mib << 20) / 64, i;
    struct line { uint64_t next, pad[7]; } *t = must_alloc(slots * sizeof *t);
    /* One random cycle over all cache lines (Sattolo): each load's address
     * depends on the one before, so no prefetcher can hide it. */
    for (i = 0; i < slots; i++) t[i].next = i;
    for (i = slots - 1; i > 0; i--) {
        uint64_t j = rng() % i, tmp = t[i].next;
        t[i].next = t[j].next; t[j].next = tmp;
    }
    uint64_t p = 0, acc = 1;
    for (long k = 0; k < n; k++) {
        p = t[p].next;                                  /* the missing load */
        for (int c = 0; c < INNER; c++) {               /* the cheap loop */
            acc += p ^ c;
            __asm__ volatile("" : "+r"(acc));           /* keep it scalar */
        }
    }
    printf("fig1 %lu %lu\n", (unsigned long)p, (unsigned long)acc);
    free(t);
    return 0;
}
