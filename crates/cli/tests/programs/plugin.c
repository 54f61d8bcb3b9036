/* A plugin whose functions call each other by the linker's entries; one of them, which one `COLD` says, has a part that
 * the compiler puts elsewhere, and that calls it again. */
static volatile int sink;

#define NOINLINE __attribute__((noinline))

NOINLINE int leaf(int x)
{
    for (int i = 0; i < 10; i++) sink += x;
    return sink;
}

__attribute__((cold, noinline)) int rarely(int x)
{
    sink += x;
    return x + 1;
}

int first(int n);
int second(int n);

NOINLINE int first(int n)
{
    if (n <= 0) return 1;
#if COLD == 1
    if (__builtin_expect(n & 1, 0)) return rarely(n) + first(n - 1) + leaf(n);
#endif
    return leaf(n) + first(n - 1);
}

NOINLINE int second(int n)
{
    if (n <= 0) return 2;
#if COLD == 2
    if (__builtin_expect(n & 1, 0)) return rarely(n) + second(n - 1) + leaf(n);
#endif
    return leaf(n) + leaf(n + 1) + second(n - 2);
}

int run(int n)
{
    return first(n) + second(n) + first(n / 2);
}
