/* The cold part of a function (GCC's f.cold) recurs: f jumps to f.cold, which calls g, which calls f, and jumps
 * back. Each level: f with its cold part 9, g 5; f(0) 6.
 *
 * total: f 146
 * total: g 137
 * call: main f 146
 * call: f g 50
 * call: g f 87 */
#include "totals.h"
long f(long n);
/* f(n > 0): 4 before the cold part, 3 in it and 2 after; f(0): 6. */
FUNCTION(f, "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; mov %rsp, %rbp; test %rdi, %rdi; jnz f.cold\n f_back: pop %rbp; ret\n");
__asm__(".section .text.unlikely,\"ax\"; .p2align 4; .type f.cold, @function\nf.cold: .cfi_startproc; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16\n dec %rdi; call g; jmp f_back\n .cfi_endproc; .size f.cold, . - f.cold\n.text\n");
FUNCTION(g, ENTER "call f\n" LEAVE);
int main(void) { f(10); return 0; }
