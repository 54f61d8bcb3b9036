/* Functions that recur and jump to each other, where the program's file is mapped and where some of its code is mapped
 * once more, without its header, as Node.js does with what it brings along for its compiler.
 *
 * total: enter 25400
 * total: first 1200
 * total: second 1000
 * total: go 24200
 * call: main enter 25400
 * call: enter first 24400 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "totals.h"

__asm__(".text; .p2align 12\n");
/* 9, and 2 before a call of first, 1 before one of second; at last 6. */
FUNCTION(go, ENTER "test %rdi, %rdi; jz 2f; dec %rdi; test $1, %dil; jz 1f; call first; jmp 2f\n"
         "1: call second\n 2:" LEAVE);
FUNCTION(first, "jmp go\n");
FUNCTION(second, "jmp go\n");
__asm__(".p2align 12\n");
/* 5 */
FUNCTION(enter, ENTER "call *%rsi\n" LEAVE);

void go(void), first(void), enter(long, void *);
extern const char __executable_start[];

int main(void)
{
    int file = open("/proc/self/exe", O_RDONLY);
    char *again = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, (char *)go - __executable_start);
    if (again == MAP_FAILED) abort();
    for (int i = 0; i < 100; i++) {
        enter(10, first);
        enter(10, again + ((char *)first - (char *)go));
    }
}
