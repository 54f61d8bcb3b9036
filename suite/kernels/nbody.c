/* Lennard-Jones particles with a cell list: role of 444/508.namd and 544.nab
 * (floating point with divisions and square roots, short-range neighbour loops).
 * args: particles per side, steps */
#include "kernel.h"
#include <math.h>
#include <string.h>
int main(int argc, char **argv)
{
    int side = arg(argc, argv, 1, 14), steps = arg(argc, argv, 2, 20), n = side * side * side;
    double L = side * 1.2; int cells = (int)(L / 2.5), nc = cells * cells * cells;
    double (*x)[3] = must_alloc(n * sizeof *x), (*v)[3] = calloc(n, sizeof *v), (*f)[3] = must_alloc(n * sizeof *f);
    int *head = must_alloc(nc * sizeof *head), *next = must_alloc(n * sizeof *next);
    for (int i = 0; i < n; i++) {
        int c[3] = {i % side, i / side % side, i / side / side};
        for (int d = 0; d < 3; d++) x[i][d] = c[d] * 1.2 + (rng() % 1000) * 1e-4;
    }
    double pot = 0;
    for (int s = 0; s < steps; s++) {
        memset(f, 0, n * sizeof *f); memset(head, -1, nc * sizeof *head); pot = 0;
        for (int i = 0; i < n; i++) {
            int c[3]; for (int d = 0; d < 3; d++) c[d] = (int)(x[i][d] / L * cells) % cells;
            int k = (c[2] * cells + c[1]) * cells + c[0]; next[i] = head[k]; head[k] = i;
        }
        for (int k = 0; k < nc; k++)
            for (int o = 0; o < 27; o++) {
                int cx = (k % cells + o % 3 - 1 + cells) % cells, cy = (k / cells % cells + o / 3 % 3 - 1 + cells) % cells;
                int cz = (k / cells / cells + o / 9 - 1 + cells) % cells, m = (cz * cells + cy) * cells + cx;
                for (int i = head[k]; i >= 0; i = next[i])
                    for (int j = head[m]; j >= 0; j = next[j]) {
                        if (i >= j) continue;
                        double d[3], r2 = 0;
                        for (int q = 0; q < 3; q++) { d[q] = x[i][q] - x[j][q]; d[q] -= L * rint(d[q] / L); r2 += d[q] * d[q]; }
                        if (r2 > 6.25) continue;
                        double i2 = 1 / r2, i6 = i2 * i2 * i2, g = 24 * i2 * i6 * (2 * i6 - 1);
                        pot += 4 * i6 * (i6 - 1) + sqrt(r2) * 1e-9;
                        for (int q = 0; q < 3; q++) { f[i][q] += g * d[q]; f[j][q] -= g * d[q]; }
                    }
            }
        for (int i = 0; i < n; i++) for (int q = 0; q < 3; q++) {
            v[i][q] += .001 * f[i][q]; x[i][q] += .001 * v[i][q];
            if (x[i][q] < 0) x[i][q] += L; else if (x[i][q] >= L) x[i][q] -= L;
        }
    }
    printf("nbody potential %.4f\n", pot);
    return 0;
}
