/* Recursion 500,000 frames deep, back, and again from another depth; mutual, through pointers too; and deeper than there
   is room to note of. */
#include "torture.h"
#include <sys/resource.h>

static int (*volatile pointer)(int);
__attribute__((noinline)) static int odd(int n);
__attribute__((noinline)) static int even(int n) { return n ? odd(n - 1) + 1 : 0; }
__attribute__((noinline)) static int odd(int n) { return n ? (n & 7 ? even(n - 1) : pointer(n - 1)) + 1 : 0; }
__attribute__((noinline)) static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

int main(int argc, char **argv)
{
    struct rlimit limit = {512 << 20, RLIM_INFINITY};
    if (argc == 1) {
        CHECK(!setrlimit(RLIMIT_STACK, &limit));
        execl("/proc/self/exe", argv[0], "large", (char *)0);
        return 1;
    }
    pointer = even;
    for (int i = 0; i < 5; i++) CHECK(even(500000 + i) == 500000 + i);
    CHECK(even(2000000) == 2000000);
    CHECK(fib(27) == 196418);
    return passed();
}
