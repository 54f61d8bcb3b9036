/* A hot loop that rounds down by way of the processor's rounding mode, as C libraries do where no instruction rounds:
 * each call writes the control register of floating point twice, and a core without copies of that register empties
 * its pipeline each time (after the thesis's Imagick, paper A, section 6). With -DFIXED it truncates and corrects.
 * args: pixels (thousands) */
#include "../kernels/kernel.h"
#include <immintrin.h>

#define ROUNDING 0x6000u
#define DOWN     0x2000u
#define WINDOW   16

__attribute__((noipa)) static double down(double x)
{
#ifdef FIXED
    double whole = (double)(long)x;
    return whole > x ? whole - 1 : whole;
#else
    unsigned before = _mm_getcsr();
    _mm_setcsr((before & ~ROUNDING) | DOWN);
    __asm__ volatile("" : "+x"(x));
    double whole = (double)_mm_cvtsd_si64(_mm_set_sd(x));
    __asm__ volatile("" : "+x"(whole));
    _mm_setcsr(before);
    return whole;
#endif
}

/* Moves each pixel's colour towards the mean of its window. */
__attribute__((noipa)) static void shift(double *to, const double *from, long n)
{
    for (long at = WINDOW; at < n - WINDOW; at++) {
        double mean = 0, weights = 0;
        for (long near = at - WINDOW / 2; near < at + WINDOW / 2; near++) {
            double distance = from[near] - down(from[at]), weight = 1 - 0.001 * distance * distance;
            mean += weight * from[near];
            weights += weight;
        }
        to[at] = mean / weights;
    }
}

int main(int argc, char **argv)
{
    long n = arg(argc, argv, 1, 20) * 1000;
    double *from = must_alloc(n * sizeof *from), *to = must_alloc(n * sizeof *to), sum = 0;
    for (long i = 0; i < n; i++) from[i] = (double)(rng() % 20000) / 1000 - 10, to[i] = 0;
    shift(to, from, n);
    for (long i = 0; i < n; i++) sum += to[i];
    printf("rounding %.3e\n", sum);
    return 0;
}
