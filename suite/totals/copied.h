/* Code that is copied before it is executed, so that nothing tells of its functions. */
#ifndef COPIED_H
#define COPIED_H

#include <string.h>
#include <sys/mman.h>

/* Functions in it are told by their distance from its first: it begins as they may be aligned. */
#define COPIED(text) __asm__(".text; .p2align 6\n code: " text "end:\n")

void enter(void *);
extern const char code[] __asm__("code"), end[] __asm__("end");

/* 2 */
FUNCTION(enter, "call *%rdi; ret\n");

static void enter_copied(void)
{
    void *place = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    enter(memcpy(place, code, end - code));
}

#endif
