/* A kernel that goes once over more memory than any cache holds and computes so much with each cell that no load of
 * the next one is in flight yet: the first load of a cell waits for memory, and hides those of the cell's other lines
 * (after the thesis's lbm, paper B, section 6). Cells come in an order that prefetchers do not know. With
 * -DFIXED each cell is prefetched while the one DISTANCE before it is computed.
 * args: cells (thousands), rounds */
#include "../kernels/kernel.h"
#include <string.h>

#define LINES 3
#define SPEEDS 24 /* eight a line */
#ifndef DISTANCE
#define DISTANCE 4
#endif

struct cell { double speed[SPEEDS]; } __attribute__((aligned(64)));

__attribute__((noipa, optimize("no-tree-vectorize"))) static double collide(struct cell *cells, const unsigned *order, long n)
{
    double all = 0;
    for (long i = 0; i < n; i++) {
#ifdef FIXED
        for (int line = 0; line < LINES; line++)
            __builtin_prefetch(&cells[order[i + DISTANCE]].speed[8 * line], 1);
#endif
        double *speed = cells[order[i]].speed, density = 0, flow = 0;
#pragma GCC unroll 24
        for (int k = 0; k < SPEEDS; k++) {
            density += speed[k];
            flow += k % 3 ? speed[k] : -speed[k];
        }
        for (int k = 0; k < SPEEDS; k++) {
            double along = flow * (k % 5 - 2), rest = density * (0.04 + 0.01 * (k % 2));
            double equal = rest * (1 + along * (3 + 4.5 * along) - 1.5 * flow * flow);
            speed[k] += 0.6 * (equal - speed[k]);
        }
        all += density;
    }
    return all;
}

int main(int argc, char **argv)
{
    long n = arg(argc, argv, 1, 300) * 1000, rounds = arg(argc, argv, 2, 1);
    struct cell *cells = aligned_alloc(64, n * sizeof *cells);
    unsigned *order = must_alloc((n + DISTANCE) * sizeof *order);
    if (!cells) return 1;
    for (long i = 0; i < n; i++) order[i] = i;
    for (long i = n - 1; i > 0; i--) {
        long other = (rng() >> 32) * (i + 1) >> 32;
        unsigned kept = order[i];
        order[i] = order[other], order[other] = kept;
    }
    for (long i = 0; i < DISTANCE; i++) order[n + i] = order[i];
    memset(cells, 0, n * sizeof *cells);
    for (long i = 0; i < n; i++) cells[i].speed[i % SPEEDS] = 1e-3 * (i % 7);
    double sum = 0;
    for (long round = 0; round < rounds; round++) sum += collide(cells, order, n);
    printf("stream %.3e\n", sum);
    return 0;
}
