/* What a program can see of itself: its own path and auxiliary vector, a heap that grows without a gap, huge
 * reservations, low addresses, and chosen addresses that were free. */
#include "torture.h"
#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

extern const char __executable_start[], _start[], end[];

int main(int argc, char **argv)
{
    char self[300];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(argc == 1 && length > 0);
    self[length] = 0;
    const char *name = strrchr(argv[0], '/'), *executed = strrchr((const char *)getauxval(AT_EXECFN), '/');
    CHECK(name && !strcmp(strrchr(self, '/'), name) && executed && !strcmp(executed, name));
    CHECK(getauxval(AT_ENTRY) == (unsigned long)_start && getauxval(AT_PAGESZ) == 4096);
    CHECK((const char *)getauxval(AT_PHDR) == __executable_start + ((Elf64_Ehdr *)__executable_start)->e_phoff);

    char *heap = sbrk(0);
    CHECK(heap >= end);
    for (int i = 0; i < 1000; i++) {                        /* a gigabyte, a megabyte at a time */
        char *grown = sbrk(1 << 20);
        CHECK(grown == heap + ((long)i << 20));
        grown[5] = i;
    }
    CHECK(sbrk(-1000 << 20) != (void *)-1 && sbrk(0) == heap);

    int none = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *huge = mmap(0, 1l << 44, PROT_NONE, none, -1, 0);
    CHECK(huge != MAP_FAILED && !munmap(huge, 1l << 44));
    char *low = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, none | MAP_32BIT, -1, 0);
    CHECK(low != MAP_FAILED && (unsigned long)low < 1ul << 31);
    char *fixed = mmap((void *)0x7fff8000, 0x10000000, PROT_NONE, none | MAP_FIXED_NOREPLACE, -1, 0);
    CHECK(fixed == (void *)0x7fff8000 && !munmap(fixed, 0x10000000));
    char *shadow = mmap((void *)0x10007fff8000, 1l << 36, PROT_NONE, none | MAP_FIXED_NOREPLACE, -1, 0);
    CHECK(shadow == (void *)0x10007fff8000 && !munmap(shadow, 1l << 36));
    return passed();
}
