/* Loaded before a program, has mapped what TAKEN names, "start-end": where the program ends it must be as it was, else its
 * status is 99. What the program executes does likewise unless something is there already. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned long *first, *last;

__attribute__((constructor)) static void take(void)
{
    unsigned long start, end;
    const char *taken = getenv("TAKEN");
    if (!taken || sscanf(taken, "%lx-%lx", &start, &end) != 2) _exit(98);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    if (mmap((void *)start, end - start, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) return;
    first = (unsigned long *)start;
    last = (unsigned long *)end - 1;
    *first = start;
    *last = end;
}

__attribute__((destructor)) static void look(void)
{
    if (first && (*first != (unsigned long)first || *last != (unsigned long)(last + 1))) _exit(99);
}
