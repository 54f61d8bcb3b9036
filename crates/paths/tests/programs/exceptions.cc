/* Exceptions: thrown through several frames, past what cleans up, thrown on, and out of recursion. */
#include <cstdio>

namespace {
volatile int cleaned;

struct Guard {
    int kind;
    ~Guard() { cleaned = cleaned + (kind & 1 ? 2 : 1); }
};

__attribute__((noinline)) int dive(int depth, int kind) {
    Guard guard{depth};
    if (depth == 0) {
        if (kind % 3 == 0)
            throw kind;
        if (kind % 3 == 1)
            throw 'c';
        return kind;
    }
    int below = dive(depth - 1, kind);
    return below + (depth & 1 ? 1 : -1);
}

__attribute__((noinline)) int pass_on(int depth, int kind) {
    try {
        return dive(depth, kind);
    } catch (char) {
        if (kind & 4)
            throw;
        return -1;
    }
}

__attribute__((noinline)) int attempt(int kind) {
    int sum = 0;
    for (int depth = 0; depth < 6; depth++) {
        try {
            sum += pass_on(depth, kind + depth);
        } catch (int thrown) {
            sum += thrown & 1 ? 3 : 5;
        } catch (char) {
            sum -= 1;
        }
    }
    return sum;
}
}

int main() {
    long sum = 0;
    for (int kind = 0; kind < 60; kind++)
        sum += attempt(kind);
    std::printf("%ld %d\n", sum, cleaned);
}
