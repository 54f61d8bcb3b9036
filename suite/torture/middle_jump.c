/* Overlapping code: jumps into the middle of instructions that were and will be executed whole. */
#include "torture.h"

/* 2: mov $0x90c3c0ff, %eax, whose immediate is inc %eax; ret; nop. */
int outer(void), inner(int);
__asm__(".text; outer: .byte 0xb8; inner_: .byte 0xff, 0xc0, 0xc3, 0x90; ret\n"
        "inner: mov %edi, %eax; jmp inner_\n");

/* A lock prefix that one way skips, as old C libraries do. */
int perhaps_locked(int *at, int locked);
__asm__(".text; perhaps_locked: test %esi, %esi; je 1f+1; 1: lock; addl $3, (%rdi); mov (%rdi), %eax; ret\n");

/* Three ways into one run of bytes, each decoding differently. */
int three(int way);
__asm__(".text; three: lea 1f(%rip), %rax; movslq %edi, %rdi; add %rdi, %rax; jmp *%rax\n"
        "1: .byte 0xb8, 0xb8, 0xb8, 0x05, 0x00, 0x90, 0x90, 0x90; and $0xffff, %eax; ret\n");

int main(void)
{
    for (int i = 0; i < 2000; i++) {
        int value = i;
        CHECK((unsigned)outer() == 0x90c3c0ff);
        CHECK(inner(i) == i + 1);
        CHECK(perhaps_locked(&value, i & 1) == i + 3);
        CHECK(three(0) == 0xb8b8 && three(2) == 5 && three(1) == 0x05b8);
    }
    return passed();
}
