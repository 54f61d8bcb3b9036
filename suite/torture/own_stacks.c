/* Stacks of the program's own making: swapcontext between many, and a switch in a few instructions whose
 * returns match no call. */
#include "torture.h"
#include <ucontext.h>

enum { COUNT = 50 };
static ucontext_t main_context, contexts[COUNT];
static long sums[COUNT];

static void body(int me)
{
    for (int i = 0; i < 100; i++) {
        sums[me] += i * me;
        swapcontext(&contexts[me], &main_context);
    }
}

/* Saves what a call must keep, exchanges stack pointers, restores, and returns on the other stack. */
void switch_to(void **save, void *load);
__asm__(".text; switch_to: push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
        "mov %rsp, (%rdi); mov %rsi, %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n");

static void *main_stack, *stacks[8];
static long turns[8];

static void coroutine(void)
{
    for (;;)
        for (int me = 0; me < 8; me++) {        /* found by the stack that this runs on */
            char *here = __builtin_frame_address(0), *top = stacks[me];
            if (here > top + 4096 || here < top - 4096) continue;
            turns[me]++;
            switch_to(&stacks[me], main_stack);
        }
}

int main(void)
{
    for (int i = 0; i < COUNT; i++) {
        CHECK(!getcontext(&contexts[i]));
        contexts[i].uc_stack.ss_sp = malloc(16384);
        contexts[i].uc_stack.ss_size = 16384;
        contexts[i].uc_link = &main_context;
        makecontext(&contexts[i], (void (*)(void))body, 1, i);
    }
    for (int round = 0; round < 101; round++)
        for (int i = 0; i < COUNT; i++) CHECK(!swapcontext(&main_context, &contexts[i]));
    for (int i = 0; i < COUNT; i++) CHECK(sums[i] == 4950l * i);

    static char memory[8][16384] __attribute__((aligned(16)));
    for (int i = 0; i < 8; i++) {
        void **top = (void **)(memory[i] + 12288);
        *--top = 0;                             /* as if coroutine had been called */
        *--top = (void *)coroutine;
        stacks[i] = top - 6;
    }
    for (int round = 0; round < 2000; round++) switch_to(&main_stack, stacks[round % 8]);
    for (int i = 0; i < 8; i++) CHECK(turns[i] == 250);
    return passed();
}
