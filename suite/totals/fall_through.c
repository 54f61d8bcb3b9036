/* A function falls through into the next, which recurs by way of g: a, into b, calls g, calls a. Each level: a 4, b 4,
 * g 5; a(0) 6.
 *
 * total: g 128
 * call: main a 136
 * call: g a 78 */
#include "totals.h"
long a(long n);
/* a(n>0): push mov test jz =4; b: dec call =2; pop ret = 2: 8; a(0): 6; g 5; a(10)=10*13+6=136 */
__asm__(".text; .p2align 4; .globl a; .type a,@function\na: .cfi_startproc\n push %rbp; mov %rsp,%rbp; test %rdi,%rdi; jz 1f\n .cfi_endproc; .size a,.-a\n .globl b; .type b,@function\nb: .cfi_startproc\n dec %rdi; call g\n1: pop %rbp; ret\n .cfi_endproc; .size b,.-b\n");
FUNCTION(g, ENTER "call a\n" LEAVE);
int main(void) { a(10); return 0; }
