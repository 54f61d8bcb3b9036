/* Code that the kernel writes: read and readv into executable pages that have run. */
#include "torture.h"
#include <sys/mman.h>
#include <sys/uio.h>

int main(void)
{
    unsigned char *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    int (*code)(void) = (int (*)(void))page, ends[2];
    CHECK(!pipe(ends));
    for (int i = 0; i < 300; i++) {
        unsigned char body[6] = {0xb8, i, i >> 8, 0, 0, 0xc3};
        struct iovec parts[2] = {{page, 2}, {page + 2, 4}};
        CHECK(write(ends[1], body, 6) == 6);
        if (i & 1) CHECK(read(ends[0], page, 6) == 6);
        else CHECK(readv(ends[0], parts, 2) == 6);
        CHECK(code() == i);
    }
    return passed();
}
