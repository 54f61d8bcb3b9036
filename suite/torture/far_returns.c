/* Far returns and returns from interrupts within 64-bit code, while signals arrive, and with a handler of the program's
 * own for traps. The thread stays one that is counted: its base of gs is the program's, and what it starts is seen.
 * build: -mno-red-zone */
#include "torture.h"
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long alarms, traps;

static void on_alarm(int signal) { (void)signal, alarms++; }
static void on_trap(int signal) { (void)signal, traps++; }

static long far_return(long value)
{
    __asm__ volatile("push $0x33\n lea 1f(%%rip), %%rax\n push %%rax\n lretq\n 1: add $1, %0"
                     : "+r"(value) : : "rax", "memory", "cc");
    return value;
}

static long interrupt_return(long value)
{
    __asm__ volatile("mov %%rsp, %%rcx\n push $0x2b\n push %%rcx\n pushfq\n push $0x33\n lea 1f(%%rip), %%rax\n push %%rax\n"
                     "iretq\n 1: add $2, %0"
                     : "+r"(value) : : "rax", "rcx", "memory", "cc");
    return value;
}

/* One right after the other. */
static long both(long value)
{
    __asm__ volatile("mov %%rsp, %%rcx\n push $0x2b\n push %%rcx\n pushfq\n push $0x33\n lea 2f(%%rip), %%rax\n push %%rax\n"
                     "push $0x33\n lea 1f(%%rip), %%rax\n push %%rax\n lretq\n 1: iretq\n 2: add $3, %0"
                     : "+r"(value) : : "rax", "rcx", "memory", "cc");
    return value;
}

static unsigned long base(void)
{
    unsigned long base = 1;
    syscall(SYS_arch_prctl, 0x1004, &base);
    return base;
}

int main(void)
{
    struct itimerval every = {{0, 700}, {0, 700}};
    signal(SIGALRM, on_alarm);
    signal(SIGTRAP, on_trap);
    setitimer(ITIMER_REAL, &every, 0);
    long value = 0;
    for (int i = 0; i < 3000; i++) value = both(interrupt_return(far_return(value)));
    while (alarms < 5) value = far_return(value) - 1;
    every.it_value.tv_usec = 0;
    setitimer(ITIMER_REAL, &every, 0);
    raise(SIGTRAP);
    int status = 0;
    pid_t child = fork();
    if (child == 0) _exit((int)far_return(41));
    waitpid(child, &status, 0);
    printf("%ld %ld, child %d, base %lx\n", value, traps, WEXITSTATUS(status), base());
    return 0;
}
