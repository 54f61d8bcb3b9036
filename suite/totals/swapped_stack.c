/* Two coroutines on one stack, above that of what starts them and lets them go on: what is on it is copied away and
 * back, as Python's greenlets do.
 *
 * total: work 13955
 * total: down 8792
 * total: pause_task 9998
 * total: leave 8400
 * total: task 10798
 * total: deep_task 18744
 * call: task work 5000
 * call: task pause_task 4999
 * call: down pause_task 4999
 * call: deep_task down 8792
 * call: deep_task work 8955
 * call: main resume 7960 */
#include "totals.h"

struct side { void *stack, *end, *copy; } scheduler, sides[2], *present;

void task(void), deep_task(void), begin(struct side *, struct side *, void (*)(void)), resume(struct side *, struct side *);

#define SAVE "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; mov %rsp, (%rdi)\n"
#define RESTORE "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n"

/* A task begins on top of its scheduler's stack. */
FUNCTION(begin, SAVE "mov %rsp, 8(%rsi); jmp *%rdx\n");
/* 20: it goes on there. */
FUNCTION(resume, SAVE "mov (%rsi), %rsp; mov 8(%rsi), %rcx; sub %rsp, %rcx; mov %rsp, %rdi; mov 16(%rsi), %rsi; rep movsb\n"
         RESTORE);
/* 21: it is put aside, and its scheduler goes on. */
FUNCTION(leave, SAVE "mov 8(%rdi), %rcx; sub %rsp, %rcx; mov (%rsi), %rax; mov 16(%rdi), %rdi; mov %rsp, %rsi\n"
         "rep movsb; mov %rax, %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n");
/* 3, and 1 when it goes on */
FUNCTION(pause_task, "mov present(%rip), %rdi; lea scheduler(%rip), %rsi; call leave; ret\n");

WORK(work);
/* 4 activations, the innermost of which pauses: 12, and 7 when it goes on */
FUNCTION(down, "dec %edi; jz 2f; call down; jmp 3f\n 2: call pause_task\n 3: ret\n");
FUNCTION(task, ".cfi_undefined rip; 1: mov $10, %edi; call work; call pause_task; jmp 1b\n");
FUNCTION(deep_task, ".cfi_undefined rip; 1: mov $4, %edi; call down; mov $20, %edi; call work; jmp 1b\n");

int main(void)
{
    static char copies[2][4096];
    for (int i = 0; i < 200; i++)
        for (int j = 0; j < 2; j++) {
            present = &sides[j];
            present->copy = copies[j];
            if (i == 0)
                begin(&scheduler, present, j ? deep_task : task);
            else
                resume(&scheduler, present);
        }
}
