/* The same work again and again, in functions of which each calls the next twice: whatever a processor is like, one of them
 * is executed neither often nor seldom. Each has a line of the cache to itself: whatever is executed in that of a breakpoint
 * is slow. Says when it has done how much of it. */
#include <stdio.h>
#include <time.h>

#define APART __attribute__((noinline, aligned(64))) static

static volatile unsigned keep;

APART unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

APART void work(void)
{
    keep += fibonacci(18);
}

#define LEVEL(name, next) \
    APART void name(void) \
    { \
        next(); \
        next(); \
    }

LEVEL(level1, work)
LEVEL(level2, level1)
LEVEL(level3, level2)
LEVEL(level4, level3)
LEVEL(level5, level4)
LEVEL(level6, level5)
LEVEL(level7, level6)

__attribute__((aligned(64))) int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (unsigned long done = 0;; done++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        printf("%lld %lu\n", now.tv_sec * 1000000000LL + now.tv_nsec, done);
        level7();
    }
}
