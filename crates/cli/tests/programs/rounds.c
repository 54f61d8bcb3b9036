/* Makes as many steps as each line of its input says, and answers with how many it has made in all. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned long steps;

__attribute__((noinline)) static void step(void)
{
    steps++;
}

int main(void)
{
    char line[32];
    for (;;) {
        ssize_t got = read(0, line, sizeof line - 1);
        if (got <= 0) return got != 0;
        line[got] = 0;
        for (long left = atol(line); left > 0; left--) step();
        printf("%lu\n", steps);
        fflush(stdout);
    }
}
