/* Fault handlers that change the context: skip the instruction, set its result in general and vector
 * registers, set flags, repair an address, and go elsewhere. */
#include "torture.h"
#include <signal.h>
#include <ucontext.h>

static enum { SKIP, REPAIR, ELSEWHERE } wish;
static long good = 77;
extern const char load[], load_end[], store[], other[];

static void handler(int signal, siginfo_t *info, void *context)
{
    ucontext_t *at = context;
    greg_t *registers = at->uc_mcontext.gregs;
    CHECK(signal == SIGSEGV && info->si_addr == (void *)64);
    CHECK(registers[REG_RBX] == 0x1234);
    if (wish == SKIP) {
        CHECK(registers[REG_RIP] == (greg_t)load);
        registers[REG_RIP] = (greg_t)load_end;
        registers[REG_RAX] = 4711;
        registers[REG_EFL] |= 1;
        at->uc_mcontext.fpregs->_xmm[3].element[0] = 99;
    } else if (wish == REPAIR) {
        CHECK(registers[REG_RIP] == (greg_t)load);
        registers[REG_RCX] = (greg_t)&good - 64;
    } else {
        CHECK(registers[REG_RIP] == (greg_t)store);
        registers[REG_RIP] = (greg_t)other;
    }
}

static long try(int which, long *vector, int *carry)
{
    long result = 0, base = 0;
    unsigned char flag = 0;
    __asm__ volatile("mov $0x1234, %%ebx; xor %%eax, %%eax; movq %%rax, %%xmm3; test %%edx, %%edx; jnz 1f\n"
                     ".globl load, load_end, store, other\n"
                     "clc; lea 1(%%rax), %%rax\n"
                     "load: mov 64(%%rcx), %%rax\n"
                     "load_end: setc %2; movq %%xmm3, %1; jmp 2f\n"
                     "1: store: movq $5, 64(%%rcx)\n"
                     "mov $-1, %%rax; jmp 2f\n"
                     "other: mov $31, %%eax\n"
                     "2:" : "=&a"(result), "=&r"(*vector), "=&q"(flag), "+c"(base) : "d"(which) : "rbx", "xmm3", "cc", "memory");
    *carry = flag;
    return result;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    CHECK(!sigaction(SIGSEGV, &action, 0));
    for (int i = 0; i < 300; i++) {
        long vector;
        int carry;
        wish = SKIP;
        CHECK(try(0, &vector, &carry) == 4711 && vector == 99 && carry);
        wish = REPAIR;
        CHECK(try(0, &vector, &carry) == 77 && !carry);
        wish = ELSEWHERE;
        CHECK(try(1, &vector, &carry) == 31);
    }
    return passed();
}
