// Executes much code, takes all the memory that it may have, and executes much other code: "done".
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void *map(size_t size) {
    return mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

// Two blocks each.
#define MUCH_CODE __asm__ volatile(".rept 60000\n test %%eax, %%eax\n jz 1f\n nop\n 1:\n .endr" ::: "cc", "memory")

int main(void) {
    MUCH_CODE;
    for (size_t size = 1 << 28; size >= 4096; size /= 2)
        while (map(size) != MAP_FAILED)
            ;
    MUCH_CODE;
    static char text[64];
    setvbuf(stdout, text, _IOFBF, sizeof text);
    printf("done %.3f\n", strtod("1.5", 0));
    return 0;
}
