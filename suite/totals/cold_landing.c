/* A function's handler in a part of its own, as GCC lays landing pads out: f calls thrower, which unwinds and returns
 * into f_cold, which calls g, which calls f. Each level: f 5, thrower 4, f_cold 4, g 5; f(0) 6.
 *
 * total: g 173
 * call: main f 186
 * call: g f 123 */
#include "totals.h"
long f(long n);
/* 5 and 6; 4; 4; 5. f(10) = 10 (5+4+4+5) + 6 = 186 */
FUNCTION(f, "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; mov %rsp, %rbp; test %rdi, %rdi; jz 1f; call thrower\n 1: pop %rbp; ret\n");
FUNCTION(thrower, "mov %rbp, %rsp; lea f_cold(%rip), %rax; push %rax; ret\n");
FUNCTION(f_cold, "dec %rdi; call g; pop %rbp; ret\n");
FUNCTION(g, ENTER "call f\n" LEAVE);
int main(void) { f(10); return 0; }
