/* Switching between stacks by a function, as libraries of coroutines do. */
#ifndef SWITCH_H
#define SWITCH_H
#include "totals.h"

void *main_stack, *coroutine_stack;

/* 15: saves what a call must keep, exchanges stack pointers, restores, and returns on the other stack. */
FUNCTION(switch_to, "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
         "mov %rsp, (%rdi); mov %rsi, %rsp\n"
         "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n");

/* 7, and 7 in each of 200 rounds */
#define ROUNDS \
    void rounds(void); \
    FUNCTION(rounds, ENTER_COUNTING(200) "1: mov $10, %edi; call work\n" \
             "lea main_stack(%rip), %rdi; mov coroutine_stack(%rip), %rsi; call switch_to\n" \
             "dec %ebx; jnz 1b\n" LEAVE_COUNTING)

/* What a coroutine's stack, which ends at `top`, holds at first: it begins with `function`. */
static inline void begin_on(void **top, void (*function)(void))
{
    *--top = (void *)function;
    for (int i = 0; i < 6; i++) *--top = 0;
    coroutine_stack = top;
}

#endif
