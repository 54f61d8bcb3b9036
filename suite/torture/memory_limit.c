/* A limit on the address space, set by the program and inherited by one that it executes: allocations fail at
 * the limit as natively, and new code still runs. */
#include "torture.h"
#include <sys/mman.h>
#include <sys/resource.h>

__attribute__((noinline)) static uint64_t fresh(uint64_t x) { return churn(x, 100) | 1; }

static void at_limit(void)
{
    struct rlimit limit;
    CHECK(!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur == 256 << 20);
    CHECK(mmap(0, 512 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == ENOMEM);
    CHECK(fresh(5));
    char *blocks[200];
    int got = 0;
    while (got < 200 && (blocks[got] = malloc(1 << 20))) memset(blocks[got++], 1, 4096);
    CHECK(got >= 100);                          /* most of 256 MB is the program's own */
    while (got) free(blocks[--got]);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        at_limit();
        return passed();
    }
    struct rlimit limit = {256 << 20, 256 << 20};
    CHECK(!setrlimit(RLIMIT_AS, &limit));
    at_limit();
    execl("/proc/self/exe", argv[0], "again", (char *)0);
    return 1;
}
