// C++ exceptions through frames with destructors, through C frames, rethrown, carried to another thread, and
// thrown by a fault handler; and what a stack walk sees.
/* build: -pthread -fnon-call-exceptions -rdynamic */
#include "torture.h"
#include <csignal>
#include <exception>
#include <execinfo.h>
#include <stdexcept>
#include <string>
#include <thread>

static int destroyed;
struct Guard { ~Guard() { destroyed++; } };
struct Fault { int signal; };

__attribute__((noinline)) static int dive(int depth)
{
    Guard guard;
    if (depth == 0) throw std::runtime_error("bottom");
    int result = dive(depth - 1) + 1;
    return result + (depth > 1000000 ? destroyed : 0);
}

static int compare(const void *a, const void *b)
{
    if (*static_cast<const int *>(a) == 7) throw 7;
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

static void thrower(int signal)
{
    sigset_t all;
    sigemptyset(&all);
    sigaddset(&all, signal);
    sigprocmask(SIG_UNBLOCK, &all, nullptr);
    throw Fault{signal};
}

__attribute__((noinline)) static int read_at(volatile int *where) { return *where; }

static int rethrows(int way)
{
    try {
        try {
            if (way & 1) throw 1;
            throw std::string("text");
        } catch (int) {
            throw;
        } catch (const std::string &) {
            std::throw_with_nested(std::logic_error("outer"));
        }
    } catch (int one) {
        return one;
    } catch (const std::logic_error &outer) {
        try {
            std::rethrow_if_nested(outer);
        } catch (const std::string &inner) {
            return static_cast<int>(inner.size());
        }
    }
    return -1;
}

extern "C" __attribute__((noinline)) int frame_of_mine(int depth)
{
    if (depth) return frame_of_mine(depth - 1) + 1;
    void *frames[64];
    int count = backtrace(frames, 64), mine = 0;
    char **names = backtrace_symbols(frames, count);
    for (int i = 0; i < count; i++) mine += strstr(names[i], "frame_of_mine") != nullptr;
    CHECK(strstr(names[count - 1], "_start") != nullptr);
    free(names);
    return mine * 100;
}

int main()
{
    signal(SIGSEGV, thrower);
    for (int i = 0; i < 100; i++) {
        destroyed = 0;
        std::string said;
        try { dive(i); } catch (const std::exception &e) { said = e.what(); }
        CHECK(said == "bottom" && destroyed == i + 1);
        int numbers[] = {3, 9, 1, 7, 4, 2}, caught = 0;
        try { qsort(numbers, 6, sizeof(int), compare); } catch (int n) { caught = n; }
        CHECK(caught == 7);
        caught = 0;
        try { caught = read_at(nullptr); } catch (const Fault &f) { caught = f.signal; }
        CHECK(caught == SIGSEGV);
        CHECK(rethrows(i) == (i & 1 ? 1 : 4));
    }
    std::exception_ptr carried;
    std::thread([&] { try { dive(5); } catch (...) { carried = std::current_exception(); } }).join();
    int seen = 0;
    try { std::rethrow_exception(carried); } catch (const std::runtime_error &) { seen = 1; }
    CHECK(seen == 1);
    CHECK(frame_of_mine(9) == 1009);
    return passed();
}
