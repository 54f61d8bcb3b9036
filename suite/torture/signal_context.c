/* What a handler sees of the code that it interrupted: always an address of the program, at the start of
 * an instruction, with the program's own stack pointer and segment; after a system call, behind it.
 * build: -static */
#include "torture.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

extern const unsigned char __executable_start[], etext[];
extern const unsigned char spin_begin[], spin_end[];
static volatile sig_atomic_t ticks, in_spin, in_call;
static volatile uintptr_t stack_low, stack_high;
static const unsigned char starts[] = {0, 3, 6, 9, 13, 14, 15, 19};

static void handler(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *at = (const unsigned char *)registers[REG_RIP];
    (void)signal, (void)info;
    ticks++;
    CHECK(at >= __executable_start && at < etext);
    CHECK((uintptr_t)registers[REG_RSP] > stack_low && (uintptr_t)registers[REG_RSP] < stack_high);
    CHECK((registers[REG_CSGSFS] & 0xffff) == 0x33);
    /* The handler returns to the restorer that the C library registered: mov $15, %rax; syscall. */
    static const unsigned char restorer[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
    CHECK(!memcmp(__builtin_return_address(0), restorer, sizeof restorer));
    if (at >= spin_begin && at < spin_end) {
        in_spin++;
        CHECK(memchr(starts, at - spin_begin, sizeof starts));
        /* Where the loop stands decides what its registers hold. */
        greg_t a = registers[REG_RAX], b = registers[REG_RDX];
        switch (at - spin_begin) {
        default: CHECK(a == b); break;
        case 3: CHECK(a == b + 1); break;
        case 6: CHECK(a == b + 2); break;
        case 9: CHECK(a == b + 1); break;
        }
    } else if (at[-2] == 0x0f && at[-1] == 0x05) {
        in_call++;
    }
}

static void spin(long rounds)
{
    long a = 0, b = 0;
    __asm__ volatile(".globl spin_begin, spin_end\n"
                     "spin_begin: inc %%rax\n"              /* 0 */
                     "inc %%rax\n"                          /* 3 */
                     "dec %%rax\n"                          /* 6 */
                     "add $1, %%rdx\n"                      /* 9 */
                     "nop; nop\n"                           /* 13, 14 */
                     ".byte 0x48, 0x83, 0xe9, 0x01\n"       /* 15: sub $1, %rcx */
                     "jnz spin_begin\n"                     /* 19 */
                     "spin_end:" : "+a"(a), "+d"(b), "+c"(rounds) : : "cc");
    CHECK(a == b);
}

int main(void)
{
    int here;
    stack_low = (uintptr_t)&here - 65536;
    stack_high = (uintptr_t)&here + 65536;
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    CHECK(!sigaction(SIGALRM, &action, 0));
    struct itimerval every = {{0, 500}, {0, 500}};
    CHECK(!setitimer(ITIMER_REAL, &every, 0));
    while (in_spin < 100 || in_call < 20) {
        spin(2000000);
        usleep(1000);
    }
    every = (struct itimerval){{0, 0}, {0, 0}};
    CHECK(!setitimer(ITIMER_REAL, &every, 0));
    return passed();
}
