/* Calls on huge ranges, most of which the program never mapped: unmapping half of the address space, hints
 * anywhere, protecting what is not there, and locking all memory. */
#include "torture.h"
#include <sys/mman.h>

int main(void)
{
    const unsigned long huge = 1ul << 45;
    for (int i = 0; i < 20; i++) {
        CHECK(!munmap((void *)0x300000000000, huge));
        CHECK(mprotect((void *)0x300000000000, huge, PROT_NONE) == -1 && errno == ENOMEM);
        CHECK(madvise((void *)0x300000000000, huge, MADV_DONTNEED) == -1 && errno == ENOMEM);
        CHECK(!munmap((void *)0x60000000, 0x20000000));
        int none = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        for (unsigned long hint = 0x10000000; hint < 1ul << 47; hint *= 2) {
            char *got = mmap((void *)hint, 8192, PROT_READ | PROT_WRITE, none, -1, 0);
            CHECK(got != MAP_FAILED);
            got[0] = got[8191] = 1;
            CHECK(!munmap(got, 8192));
        }
        CHECK(mremap((void *)0x400000000000, 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
    }
    if (!mlockall(MCL_CURRENT | MCL_FUTURE)) {
        char *got = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(got != MAP_FAILED && !munlockall());
    }
    return passed();
}
