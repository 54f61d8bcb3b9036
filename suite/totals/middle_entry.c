/* A function without unwind information jumps into the middle of one with: e, on to f, calls g, calls e. Each level:
 * e 5, f 4, g 5; e(0) 6.
 *
 * total: g 137
 * call: main e 146
 * call: g e 87 */
#include "totals.h"
long e(long n);
__asm__(".text; .p2align 4; .globl e; .type e, @function\ne: push %rbp; mov %rsp,%rbp; test %rdi,%rdi; jz 1f; jmp f_mid\n 1: pop %rbp; ret\n .size e, .-e\n");
/* e(n>0): push mov test jz jmp = 5, f: dec call pop ret = 4, g: push mov call pop ret 5: 14 each; e(0) 6: e(10) = 146 */
FUNCTION(f, "push %rbp; mov %rsp,%rbp; f_mid: dec %rdi; call g; pop %rbp; ret\n");
FUNCTION(g, ENTER "call e\n" LEAVE);
int main(void) { e(10); return 0; }
