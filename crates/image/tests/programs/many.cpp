// Functions without symbols, as all of them are inlined, of which many have the same last name.
#define INLINE inline __attribute__((always_inline))
volatile long sink;
extern long (*table[])(int, ...);
namespace b {
static INLINE void step(int v) { sink += v; }
static INLINE void step(const char *v) { sink += *v; }
}
namespace c { static INLINE void step(unsigned long v, int) { sink ^= v; } }
namespace {
namespace deep {
enum Kind { SMALL };
struct S {
    INLINE void method(short) const { sink *= 3; }
    static INLINE void uses(long (*f)(int, ...), int (&a)[3], Kind) { sink += f(a[1]); }
    template <class T> INLINE void made(T x) { sink += (long)x; }
};
}
}
template <class F> INLINE void apply(F f) { f(1); }
template <class F> struct Holder {
    F f;
    INLINE void call(F *) { f(5); }
};
extern "C" { INLINE int exported(int x) { return sink += x; } }
INLINE void with_symbol(int n) {
    auto within = [&](int x) { sink += x * n; };
    within(n);
}
struct Outer { __attribute__((noinline)) void method(int); };
void
Outer::method(int n)

{
    sink -= n;
}
static __attribute__((noinline, noclone)) void
without_symbol(int n)
{
    sink *= n;
}
int main(int argc, char **argv) {
    int three[3] = {argc, argc, argc};
    b::step(argc);
    b::step(argv[0]);
    c::step(argc, 1);
    deep::S s;
    s.method(2);
    s.uses(table[0], three, deep::SMALL);
    s.made(2.5);
    auto first = [](int x) { sink += x; };
    auto second = [](int x) { sink ^= x; };
    apply(first);
    apply(second);
    Holder<decltype(first)>{first}.call(nullptr);
    Holder<decltype(second)>{second}.call(nullptr);
    struct Local { INLINE void method(int k) { sink -= k; } } local;
    local.method(exported(3));
    with_symbol(4);
    Outer().method(argc);
    without_symbol(argc);
    return 0;
}
long one(int, ...) { return 1; }
long (*table[])(int, ...) = {one};
