/* A function that takes any number of arguments off the stack: it takes its return address off before, and puts it back.
 *
 * total: rounds 5407
 * call: main rounds 5407
 * call: rounds clear 1600
 * call: rounds between 1800
 * call: between clear 800 */
#include "totals.h"

void rounds(void);

/* 4: so many as rax says */
FUNCTION(clear, "pop %r10; lea (%rsp,%rax,8), %rsp; push %r10; ret\n");
/* 5 and 4 */
FUNCTION(between, "push %rax; push %rax; mov $2, %eax; call clear; ret\n");
/* 7, and 10, twice 4 and 9 in each of 200 rounds */
FUNCTION(rounds, ENTER_COUNTING(200) "1: push %rax; push %rax; push %rax; mov $3, %eax; call clear\n"
                 "mov $0, %eax; call clear; call between; dec %ebx; jnz 1b\n" LEAVE_COUNTING);

int main(void) { rounds(); }
