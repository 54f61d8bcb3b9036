/* Recursion through a retpoline (-mindirect-branch=thunk): f calls thunk, whose return enters f. Each level: f 9,
 * thunk 3; f(0) 6.
 *
 * total: f 126
 * call: main f 126
 * call: f thunk 30 */
#include "totals.h"
long f(long n);
/* f(n>0): push mov test jz dec lea call pop ret = 9 + thunk 3 ; f(0): push mov test jz pop ret 6: 10*12+6=126 */
FUNCTION(f, ENTER "test %rdi, %rdi; jz 1f; dec %rdi; lea f(%rip), %rax; call thunk\n 1:" LEAVE);
FUNCTION(thunk, "call 2f\n1: pause; jmp 1b\n2: mov %rax, (%rsp); ret\n");
int main(void) { f(10); return 0; }
