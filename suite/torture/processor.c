/* Instructions that ask the processor: cpuid, clocks, random numbers, cache control, fences. */
#include "torture.h"
#include <cpuid.h>
#include <x86intrin.h>

__attribute__((target("rdrnd"))) static int random_bits(unsigned long long *to) { return _rdrand64_step(to); }

int main(void)
{
    unsigned a, b, c, d, most = __get_cpuid_max(0, 0);
    CHECK(most >= 1);
    unsigned long long last = 0;
    for (int i = 0; i < 2000; i++) {
        __cpuid(0, a, b, c, d);
        CHECK(a == most);
        unsigned processor;
        unsigned long long now = __rdtscp(&processor), later = __rdtsc();
        CHECK(now >= last && later >= now - 100000);
        last = now;
        _mm_lfence();
        _mm_mfence();
        _mm_sfence();
        _mm_clflush(&last);
        _mm_prefetch((const char *)&last, _MM_HINT_T0);
        _mm_pause();
        _mm_stream_si32((int *)&a, i);
        _mm_sfence();
        CHECK(a == (unsigned)i);
    }
    __cpuid(1, a, b, c, d);
    unsigned long long bits = 0;
    if (c & bit_RDRND) for (int i = 0; i < 10 && !random_bits(&bits); i++) {}
    return passed();
}
