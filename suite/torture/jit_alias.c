/* Two mappings of one memory, as hardened JITs have: written here, executed there. */
#include "torture.h"
#include <sys/mman.h>

int main(void)
{
    int memory = memfd_create("code", 0);
    CHECK(memory >= 0 && !ftruncate(memory, 4096));
    unsigned char *writable = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    int (*code)(void) = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, memory, 0);
    CHECK(writable != MAP_FAILED && code != MAP_FAILED);
    memcpy(writable, "\xb8\0\0\0\0\xc3", 6);
    for (int i = 0; i < 300; i++) {
        memcpy(writable + 1, &i, 4);
        CHECK(code() == i);
    }
    return passed();
}
