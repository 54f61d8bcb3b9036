/* STREAM triad a[i] = b[i] + s*c[i]: bandwidth bound, perfectly predictable.
 * args: doubles per array (thousands), sweeps */
#include "kernel.h"
int main(int argc, char **argv)
{
    long n = arg(argc, argv, 1, 8000) * 1000, reps = arg(argc, argv, 2, 20);
    double *a = must_alloc(n * 8), *b = must_alloc(n * 8), *c = must_alloc(n * 8);
    for (long i = 0; i < n; i++) { a[i] = 0; b[i] = i & 1023; c[i] = (i & 7) * .5; }
    for (long r = 0; r < reps; r++) {
        double s = 1 + r;
        for (long i = 0; i < n; i++) a[i] = b[i] + s * c[i];
        double *t = b; b = a; a = t;
    }
    double sum = 0;
    for (long i = 0; i < n; i += 101) sum += b[i];
    printf("triad %.1f\n", sum);
    return 0;
}
