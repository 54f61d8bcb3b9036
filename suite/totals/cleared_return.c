/* A function that takes any number of arguments off the stack: it takes its return address off before, and puts it back. In
 * a thread, as no call is held elsewhere than on its stack of calls then.
 *
 * build: -pthread
 * total: rounds 5407
 * call: work rounds 5407
 * call: rounds clear 1600
 * call: rounds between 1800
 * call: between clear 800 */
#include "totals.h"
#include <pthread.h>

void rounds(void);

/* 4: so many as rax says */
FUNCTION(clear, "pop %r10; lea (%rsp,%rax,8), %rsp; push %r10; ret\n");
/* 5 and 4 */
FUNCTION(between, "push %rax; push %rax; mov $2, %eax; call clear; ret\n");
/* 7, and 10, twice 4 and 9 in each of 200 rounds */
FUNCTION(rounds, ENTER_COUNTING(200) "1: push %rax; push %rax; push %rax; mov $3, %eax; call clear\n"
                 "mov $0, %eax; call clear; call between; dec %ebx; jnz 1b\n" LEAVE_COUNTING);

void *work(void *argument)
{
    rounds();
    return argument;
}

int main(void)
{
    pthread_t thread;
    return pthread_create(&thread, 0, work, 0) || pthread_join(thread, 0);
}
