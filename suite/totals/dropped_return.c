/* A function that gives up the address that it would return to, and so returns for its caller; and one that returns for
 * another that jumped to it, and for itself.
 *
 * total: rounds 2407
 * call: main rounds 2407
 * call: rounds outer 600
 * call: outer inner 400
 * call: rounds first 600
 * call: rounds second 200 */
#include "totals.h"

void rounds(void);

/* 1 and 2 */
FUNCTION(outer, "call inner; ud2\n");
FUNCTION(inner, "add $8, %rsp; ret\n");
/* 2 and 1 */
FUNCTION(first, "nop; jmp second\n");
FUNCTION(second, "ret\n");
/* 7, and 5 in each of 200 rounds */
FUNCTION(rounds, ENTER_COUNTING(200) "1: call outer; call first; call second; dec %ebx; jnz 1b\n" LEAVE_COUNTING);

int main(void) { rounds(); }
