/* A function that is reached through a stub, which is bound as dynamic linkers do it when it is first called: by code
 * that puts the stack pointer back to where it was and jumps on. It calls the caller once more, so both recur before
 * the stub has led to it.
 *
 * total: descend 86
 * call: main descend 86
 * call: apply descend 42 */
#include "totals.h"

long descend(long n);
void resolve(void);
void *bound = resolve;

/* 9 with the stub where they call, 6 where they do not; 5; and once 7 and 3. */
FUNCTION(descend, ENTER "test %rdi, %rdi; jz 1f; dec %rdi; call stub\n 1:" LEAVE);
FUNCTION(stub, "jmp *bound(%rip)\n");
FUNCTION(apply, ENTER "call descend\n" LEAVE);
FUNCTION(resolve, "push %rbx; mov %rsp, %rbx; and $-64, %rsp; call bind_it; mov %rbx, %rsp; pop %rbx; jmp *%r11\n");
FUNCTION(bind_it, "lea apply(%rip), %r11; mov %r11, bound(%rip); ret\n");

int main(void)
{
    descend(5);
}
