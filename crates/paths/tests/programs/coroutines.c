/* Coroutines on stacks side by side, which give values out of recursion, and none of which ends. */
#include <stdio.h>

enum { COUNT = 6, SIZE = 4096, ROUNDS = 3000 };

static char stacks[COUNT][SIZE] __attribute__((aligned(16)));
static void *tops[COUNT], *resumer;
static int current;
static long given;

/* Saves what a call must keep, exchanges stack pointers, restores, and returns on the other stack. */
void switch_to(void **save, void *load);
__asm__(".type switch_to, @function\n"
        "switch_to:\n"
        "    push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
        "    ret\n"
        ".size switch_to, . - switch_to\n");

__attribute__((noinline)) static void give(long value) {
    given = value & 8 ? value : -value;
    switch_to(&tops[current], resumer);
}

__attribute__((noinline)) static void walk(long value, int depth) {
    if (value & 1)
        give(value);
    if (depth)
        walk(value / 2, depth - 1);
    if (value & 2)
        give(value + depth);
}

static void coroutine(void) {
    for (long i = current;; i += COUNT) {
        walk(i, 4);
        if (i & 4)
            give(i);
    }
}

__attribute__((noinline)) static long resume(int which) {
    current = which;
    switch_to(&resumer, tops[which]);
    return given & 1 ? given : given / 2;
}

int main(void) {
    long sum = 0;
    for (int i = 0; i < COUNT; i++) {
        void **top = (void **)(stacks[i] + SIZE);
        *--top = 0; /* as if coroutine had been called */
        *--top = (void *)coroutine;
        tops[i] = top - 6;
    }
    for (int i = 0; i < ROUNDS; i++)
        sum += resume(i % 7 % COUNT);
    printf("%ld\n", sum);
    return 0;
}
