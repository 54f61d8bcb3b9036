/* The same addresses hold different code over time: unmapped and mapped again, mapped over, moved by mremap,
 * discarded by madvise, and exchanged between files. */
#include "torture.h"
#include <sys/mman.h>

static void put(unsigned char *at, int value)
{
    at[0] = 0xb8;
    memcpy(at + 1, &value, 4);
    at[5] = 0xc3;
}

int main(void)
{
    const int all = PROT_READ | PROT_WRITE | PROT_EXEC, own = MAP_PRIVATE | MAP_ANONYMOUS;
    unsigned char *page = mmap(0, 65536, all, own, -1, 0), *other;
    CHECK(page != MAP_FAILED);
    int (*code)(void) = (int (*)(void))page;
    int files[2] = {memfd_create("one", 0), memfd_create("two", 0)};
    for (int i = 0; i < 2; i++) {
        unsigned char body[4096] = {0};
        put(body, 1000 + i);
        CHECK(files[i] >= 0 && write(files[i], body, 4096) == 4096);
    }
    for (int i = 0; i < 300; i++) {
        put(page, i);
        CHECK(code() == i);
        CHECK(!munmap(page, 65536));
        CHECK(mmap(page, 65536, all, own | MAP_FIXED_NOREPLACE, -1, 0) == page);
        put(page, i + 1);
        CHECK(code() == i + 1);
        CHECK(mmap(page, 4096, all, own | MAP_FIXED, -1, 0) == page);
        put(page, i + 2);
        CHECK(code() == i + 2);
        other = mmap(0, 4096, all, own, -1, 0);
        CHECK(other != MAP_FAILED);
        put(other, i + 3);
        CHECK(((int (*)(void))other)() == i + 3);
        CHECK(mremap(other, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, page) == page);
        CHECK(code() == i + 3);
        CHECK(!madvise(page, 4096, MADV_DONTNEED) && page[0] == 0);
        put(page, i + 4);
        CHECK(code() == i + 4);
        CHECK(mmap(page, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, files[i & 1], 0) == page);
        CHECK(code() == 1000 + (i & 1));
        CHECK(mmap(page, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, files[!(i & 1)], 0) == page);
        CHECK(code() == 1000 + !(i & 1));
        CHECK(mmap(page, 65536, all, own | MAP_FIXED, -1, 0) == page);
    }
    return passed();
}
