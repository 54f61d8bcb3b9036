/* A signal handler on a stack of its own. What it executes is no cost of the calls that it interrupts.
 *
 * total: signals 4007
 * total: send 1000
 * total: handler 7100
 * total: work 9000
 * call: main signals 4007
 * call: signals work 2500
 * call: signals send 1000
 * call: handler work 6500 */
#include "totals.h"
#include <signal.h>
#include <stdlib.h>

void signals(void), handler(int);

WORK(work);
FUNCTION(handler, ENTER "mov $30, %edi; call work\n" LEAVE);
/* 10: getpid and kill by SIGUSR1, which arrives at once */
FUNCTION(send, ENTER "mov $39, %eax; syscall; mov %eax, %edi; mov $10, %esi; mov $62, %eax; syscall\n" LEAVE);
/* 7, and 5 in each of 100 rounds */
FUNCTION(signals, ENTER_COUNTING(100) "1: mov $10, %edi; call work; call send; dec %ebx; jnz 1b\n" LEAVE_COUNTING);

int main(void)
{
    static char memory[65536];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL)) return 1;
    signals();
}
