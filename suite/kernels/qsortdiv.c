/* Sorting through a comparator callback whose body divides: once with libc's
 * qsort (callback from a stripped shared library) and once with an own
 * quicksort (callback from code with line numbers).
 * args: elements (thousands) */
#include "kernel.h"
typedef int (*cmp_fn)(const void *, const void *);
static uint64_t divisor = 1000003;
static long calls;
static int cmp_div(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    calls++;
    uint64_t rx = x / divisor % 65521, ry = y / divisor % 65521;   /* idiv */
    if (rx != ry) return rx < ry ? -1 : 1;
    return x < y ? -1 : x > y;
}
static void own_sort(uint64_t *v, long lo, long hi, cmp_fn cmp)
{
    while (lo < hi) {
        uint64_t p = v[(lo + hi) / 2];
        long i = lo, j = hi;
        while (i <= j) {
            while (cmp(&v[i], &p) < 0) i++;
            while (cmp(&v[j], &p) > 0) j--;
            if (i <= j) { uint64_t t = v[i]; v[i++] = v[j]; v[j--] = t; }
        }
        if (j - lo < hi - i) { own_sort(v, lo, j, cmp); lo = i; }
        else                 { own_sort(v, i, hi, cmp); hi = j; }
    }
}
int main(int argc, char **argv)
{
    long n = arg(argc, argv, 1, 300) * 1000;
    uint64_t *a = must_alloc(n * 8), *b = must_alloc(n * 8), h = 0;
    for (long i = 0; i < n; i++) a[i] = b[i] = rng() >> 8;
    qsort(a, n, 8, cmp_div);
    own_sort(b, 0, n - 1, cmp_div);
    for (long i = 0; i < n; i++) { if (a[i] != b[i]) return 1; h = mix(h, a[i]); }
    printf("qsortdiv %016lx calls %ld\n", (unsigned long)h, calls);
    return 0;
}
