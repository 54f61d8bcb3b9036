/* Square roots that nothing in the program has to wait for, but each is behind a comparison that is kept from raising
 * floating-point flags by writes of the control register. Where these empty the pipeline, a root issues when nothing
 * is left that would hide it (after the thesis's nab, paper B, section 6). With -DFIXED it is compared plainly.
 * args: atoms */
#include "../kernels/kernel.h"
#include <immintrin.h>
#include <math.h>

/* Whether a is less than b, with no trace in the flags if one is not a number. */
static inline int is_less(double *a, double b)
{
#ifdef FIXED
    return *a < b;
#else
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x1f80u);
    __asm__ volatile("" : "+x"(*a));
    int less = *a < b;
    __asm__ volatile("" : "+x"(*a), "+r"(less));
    _mm_setcsr(before);
    __asm__ volatile("" : "+x"(*a));
    return less;
#endif
}

__attribute__((noipa)) static double energy(const double *x, const double *y, const double *z, long n)
{
    double sum = 0;
    for (long i = 0; i < n; i++)
        for (long j = 0; j < i; j++) {
            double dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
            double squared = dx * dx + dy * dy + dz * dz;
            if (is_less(&squared, 1e6))
                sum += sqrt(squared);
        }
    return sum;
}

int main(int argc, char **argv)
{
    long n = arg(argc, argv, 1, 1000);
    double *x[3];
    for (int k = 0; k < 3; k++) {
        x[k] = must_alloc(n * sizeof(double));
        for (long i = 0; i < n; i++) x[k][i] = (double)(rng() % 1000) / 100;
    }
    printf("root %.3e\n", energy(x[0], x[1], x[2], n));
    return 0;
}
