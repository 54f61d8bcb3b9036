/* Exceptions thrown through three frames, one of which has something to clean up.
 *
 * total: work 11750
 * call: run work 4250
 * call: first work 1250
 * call: second work 3000
 * call: third work 3250 */
#include "totals.h"

WORK(work);
namespace {
struct Guard { ~Guard() { work(5); } };
}
extern "C" {
__attribute__((noinline)) void third(int value) { work(30); throw value; }
__attribute__((noinline)) void second(int value) { Guard guard; work(20); third(value); }
__attribute__((noinline)) void first(int value) { work(10); second(value); __asm__ volatile(""); }
__attribute__((noinline)) int run(void)
{
    int caught = 0;
    for (int i = 0; i < 50; i++) {
        try { first(i); }
        catch (int value) { caught += value == i; work(40); }
    }
    return caught;
}
}

int main() { return run() != 50; }
