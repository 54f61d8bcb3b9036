/* Code that overlaps: jumps into the middle of instructions that are executed whole as well. */
#include <stdio.h>

/* 2: mov eax, 0x90c3c0ff, whose immediate is inc eax; ret; nop. */
int outer(void), inner(int);
__asm__(".text\n.type outer, @function\nouter: .byte 0xb8\n"
        "1: .byte 0xff, 0xc0, 0xc3, 0x90; ret\n.size outer, . - outer\n"
        ".type inner, @function\ninner: movl %edi, %eax; testl $1, %edi; jz 1b; addl $2, %eax; jmp 1b\n"
        ".size inner, . - inner\n");

/* A lock prefix that one way skips: two blocks that end together. */
int perhaps_locked(int *at, int locked);
__asm__(".text\n.type perhaps_locked, @function\n"
        "perhaps_locked: testl %esi, %esi; jz 1f + 1; 1: lock; addl $3, (%rdi); movl (%rdi), %eax; ret\n"
        ".size perhaps_locked, . - perhaps_locked\n");

__attribute__((noinline)) static int either(int value) {
    int sum = value;
    if (value & 1)
        sum = inner(value);
    if (value & 2)
        sum += outer() & 0xff;
    return value & 4 ? sum : -sum;
}

int main(void) {
    int sum = 0;
    for (int i = 0; i < 200; i++) {
        int value = i;
        sum += either(i) + perhaps_locked(&value, i & 1);
    }
    printf("%d\n", sum);
    return 0;
}
