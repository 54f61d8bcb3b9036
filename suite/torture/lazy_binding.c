/* Functions bound at their first call, whose resolver must keep every argument register, vectors included;
 * and functions chosen by an ifunc resolver.
 * build: -Wl,-z,lazy -lm -fno-builtin */
#include "torture.h"
#include <math.h>
#include <stdarg.h>

static int first(int x) { return x + 1; }
static int second(int x) { return x + 2; }
static int (*resolve(void))(int) { return sizeof(long) == 8 ? second : first; }
int chosen(int) __attribute__((ifunc("resolve")));

int main(void)
{
    char text[200];
    volatile double x = 2;
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%g %g %g %g %g %g %g %g %g %d %d %d %d", x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7, x + 8, i, i, i, i);
        char wanted[200];
        strcpy(wanted, "2 3 4 5 6 7 8 9 10 0 0 0 0");
        for (char *at = wanted + 19; *at; at += 2) *at = '0' + i;
        CHECK(!strcmp(text, wanted));
        CHECK(fabs(pow(x, 10) - 1024) < 1e-9 && fabs(atan2(1, 1) - M_PI / 4) < 1e-9 && fma(x, 3, 4) == 10);
        CHECK(strtol("777", 0, 8) == 511 && strtod("2.5", 0) == 2.5);
        CHECK(chosen(i) == i + 2);
    }
    return passed();
}
