/* Lattice-Boltzmann (D2Q9, BGK) lid-driven cavity: role of 470/519.lbm.
 * Streaming memory traffic plus a long straight-line floating-point body.
 * args: side, steps */
#include "kernel.h"
#include <string.h>
#define Q 9
static const int cx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
static const int cy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const int opp[Q] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
static const double w[Q] = {4./9, 1./9, 1./9, 1./9, 1./9, 1./36, 1./36, 1./36, 1./36};

static void step(int n, const double *restrict f, double *restrict g, double omega, double ulid)
{
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            const double *c = f + ((size_t)y * n + x) * Q;
            double rho = 0, ux = 0, uy = 0;
            for (int q = 0; q < Q; q++) { rho += c[q]; ux += c[q] * cx[q]; uy += c[q] * cy[q]; }
            ux /= rho; uy /= rho;
            double usq = 1.5 * (ux * ux + uy * uy);
            for (int q = 0; q < Q; q++) {
                double cu = 3 * (cx[q] * ux + cy[q] * uy);
                double eq = w[q] * rho * (1 + cu + .5 * cu * cu - usq);
                double out = c[q] + omega * (eq - c[q]);
                int X = x + cx[q], Y = y + cy[q];
                if (X < 0 || X >= n || Y < 0 || Y >= n) {       /* bounce back */
                    double lid = Y >= n ? 6 * w[q] * rho * cx[q] * ulid : 0;
                    g[((size_t)y * n + x) * Q + opp[q]] = out - lid;
                } else
                    g[((size_t)Y * n + X) * Q + q] = out;
            }
        }
}

int main(int argc, char **argv)
{
    int n = arg(argc, argv, 1, 400), steps = arg(argc, argv, 2, 30);
    size_t cells = (size_t)n * n;
    double *f = must_alloc(cells * Q * sizeof *f), *g = must_alloc(cells * Q * sizeof *g), *t;
    for (size_t i = 0; i < cells; i++) for (int q = 0; q < Q; q++) f[i * Q + q] = w[q];
    for (int s = 0; s < steps; s++) { step(n, f, g, 1.2, .1); t = f; f = g; g = t; }
    double mass = 0, mom = 0;
    for (size_t i = 0; i < cells; i++) for (int q = 0; q < Q; q++) { mass += f[i*Q+q]; mom += f[i*Q+q] * cx[q]; }
    printf("lbm mass %.6f momentum %.6f\n", mass / cells, mom);
    free(f); free(g);
    return 0;
}
