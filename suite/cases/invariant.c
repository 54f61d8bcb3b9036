/* A loop of divisions by what stays the same, which a compiler must not replace without -ffast-math (after
 * OptiWISE's case 603.bwaves, section VI-C). With -DFIXED the inverse is computed once, before the loop.
 * args: cells (thousands), rounds */
#include "../kernels/kernel.h"

__attribute__((noipa)) static void step(double *now, const double *before, long n, double width, double heat)
{
#ifdef FIXED
    double by_width = 1.0 / width, by_heat = 1.0 / heat;
    for (long i = 1; i < n - 1; i++)
        now[i] = before[i] + ((before[i - 1] - before[i]) * by_width + (before[i + 1] - before[i]) * by_width) * by_heat;
#else
    for (long i = 1; i < n - 1; i++)
        now[i] = before[i] + ((before[i - 1] - before[i]) / width + (before[i + 1] - before[i]) / width) / heat;
#endif
}

int main(int argc, char **argv)
{
    long n = arg(argc, argv, 1, 4) * 1000, rounds = arg(argc, argv, 2, 20000);
    double *a = must_alloc(n * sizeof *a), *b = must_alloc(n * sizeof *b), sum = 0;
    for (long i = 0; i < n; i++) a[i] = b[i] = (double)(rng() % 1000);
    for (long round = 0; round < rounds; round++) {
        step(b, a, n, 0.75, 8.5);
        step(a, b, n, 0.75, 8.5);
    }
    for (long i = 0; i < n; i++) sum += a[i];
    printf("invariant %.3e\n", sum);
    return 0;
}
