/* A jump out of four calls at once, as longjmp makes it, in a loop. What is called after it costs its caller
 * nothing but itself.
 *
 * total: hops 12907
 * total: first 7750
 * total: middle 6250
 * total: inner 3750
 * total: leap 250
 * total: save 400
 * total: work 11000
 * call: main hops 12907
 * call: hops save 400
 * call: hops first 7750
 * call: hops work 4250
 * call: first work 1250
 * call: first middle 6250
 * call: middle work 2250
 * call: middle inner 3750
 * call: inner work 3250
 * call: inner leap 250 */
#include "totals.h"

void hops(void);
void *there[4];

WORK(work);
/* 8 */
FUNCTION(save, "mov (%rsp), %rax; mov %rax, there(%rip); lea 8(%rsp), %rax; mov %rax, 8+there(%rip)\n"
         "mov %rbp, 16+there(%rip); mov %rbx, 24+there(%rip); xor %eax, %eax; ret\n");
/* 5 */
FUNCTION(leap, "mov 8+there(%rip), %rsp; mov 16+there(%rip), %rbp; mov 24+there(%rip), %rbx\n"
         "mov $1, %eax; jmp *there(%rip)\n");
/* 5 each, up to the call that never returns */
FUNCTION(inner, ENTER "mov $30, %edi; call work; call leap\n" LEAVE);
FUNCTION(middle, ENTER "mov $20, %edi; call work; call inner\n" LEAVE);
FUNCTION(first, ENTER "mov $10, %edi; call work; call middle\n" LEAVE);
/* 7, and 10 in each of 50 rounds */
FUNCTION(hops, ENTER_COUNTING(50) "1: call save; test %eax, %eax; jnz 2f; call first\n"
         "2: mov $40, %edi; call work; dec %ebx; jnz 1b\n" LEAVE_COUNTING);

int main(void) { hops(); }
