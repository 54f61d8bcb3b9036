/* A return as a jump: f calls thunk, which pushes g and returns into it; g calls f. Each level: f 9, thunk 2, g 5;
 * f(0) 6.
 *
 * total: f 166
 * call: main f 166
 * call: f thunk 70
 * call: g f 105 */
#include "totals.h"
long f(long n);
/* f(n>0): push mov test jz dec lea call pop ret = 9 + 2 ; f(0) 6 */
FUNCTION(f, ENTER "test %rdi, %rdi; jz 1f; dec %rdi; lea g(%rip), %rax; call thunk\n 1:" LEAVE);
FUNCTION(g, ENTER "call f\n" LEAVE);
FUNCTION(thunk, "push %rax; ret\n");
int main(void) { f(10); return 0; }
