/* Two stacks, between which a thread switches by a return to what it has just put on the other: that ends no call.
 *
 * build: -pthread
 * total: rounds 7807
 * total: body 11599
 * call: work_in rounds 7807
 * call: rounds work 5000
 * call: rounds switch 1400
 * call: body work 9000
 * call: body switch 1400 */
#include "totals.h"
#include <pthread.h>

void rounds(void);
void body(void);

/* Where each stack was left, and where it goes on. */
void *first[2], *second[2];
static void *stack[1 << 12] __attribute__((aligned(16)));

WORK(work);
/* 7 */
FUNCTION(switch, "pop %rax; mov %rsp, (%rdi); mov %rax, 8(%rdi)\n"
         "mov (%rsi), %rsp; mov 8(%rsi), %rcx; push %rcx; ret\n");
FUNCTION(rounds, ENTER_COUNTING(200) "1: mov $10, %edi; call work\n"
         "lea first(%rip), %rdi; lea second(%rip), %rsi; call switch; dec %ebx; jnz 1b\n" LEAVE_COUNTING);
/* It is left in its 200th round. */
FUNCTION(body, ".cfi_undefined rip; 1: mov $20, %edi; call work\n"
         "lea second(%rip), %rdi; lea first(%rip), %rsi; call switch; jmp 1b\n");

void *work_in(void *argument)
{
    rounds();
    return argument;
}

int main(void)
{
    second[0] = stack + (1 << 12) - 8;
    second[1] = (void *)body;
    pthread_t thread;
    return pthread_create(&thread, 0, work_in, 0) || pthread_join(thread, 0);
}
