/* Faults of instructions that were half done or that move the stack: push, pop, call and ret at the edge of
 * a page, string copies that stop in the middle. The handler opens the page and they go on. */
#include "torture.h"
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

static char *pages;             /* three: usable, closed, usable */
static volatile sig_atomic_t faults;
static volatile greg_t seen[3];

static void handler(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    CHECK(signal == SIGSEGV && (char *)info->si_addr >= pages + 4096 && (char *)info->si_addr < pages + 8192);
    faults++;
    seen[0] = registers[REG_RSP];
    seen[1] = registers[REG_RDI];
    seen[2] = registers[REG_RCX];
    CHECK(!mprotect(pages + 4096, 4096, PROT_READ | PROT_WRITE));
}

static void close_page(void) { CHECK(!mprotect(pages + 4096, 4096, PROT_NONE)); faults = 0; }

int main(void)
{
    static char stack[65536];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    CHECK(!sigaltstack(&alternative, 0));
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    CHECK(!sigaction(SIGSEGV, &action, 0));
    pages = mmap(0, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    for (int i = 0; i < 20; i++) {
        long got = 0;
        char *edge = pages + 8192;

        close_page();                                       /* push into the closed page */
        __asm__ volatile("mov %%rsp, %%r12; mov %1, %%rsp; push $1234; mov (%%rsp), %0; mov %%r12, %%rsp"
                         : "=&r"(got) : "r"(edge) : "r12", "memory");
        CHECK(got == 1234 && faults == 1 && seen[0] == (greg_t)edge);

        close_page();                                       /* call */
        __asm__ volatile("mov %%rsp, %%r12; mov %1, %%rsp; call 1f; 2: jmp 3f; 1: mov (%%rsp), %0; lea 2b(%%rip), %%r13\n"
                         "sub %%r13, %0; ret; 3: mov %%r12, %%rsp" : "=&r"(got) : "r"(edge) : "r12", "r13", "memory", "cc");
        CHECK(got == 0 && faults == 1 && seen[0] == (greg_t)edge);

        *(long *)(edge - 8) = 4321;
        close_page();                                       /* pop */
        __asm__ volatile("mov %%rsp, %%r12; mov %1, %%rsp; pop %0; mov %%r12, %%rsp"
                         : "=&r"(got) : "r"(edge - 8) : "r12", "memory");
        CHECK(got == 4321 && faults == 1 && seen[0] == (greg_t)(edge - 8));

        __asm__ volatile("lea 1f(%%rip), %0; 1:" : "=r"(got));
        extern const char landing[];
        *(const char **)(edge - 8) = landing;
        close_page();                                       /* ret */
        __asm__ volatile("mov %%rsp, %%r12; mov %1, %%rsp; xor %0, %0; ret; ud2; .globl landing; landing: inc %0; mov %%r12, %%rsp"
                         : "=&r"(got) : "r"(edge - 8) : "r12", "memory", "cc");
        CHECK(got == 1 && faults == 1 && seen[0] == (greg_t)(edge - 8));

        close_page();                                       /* rep stosb runs into it */
        char *to = pages + 4096 - 100;
        long count = 300;
        __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(i) : "memory");
        CHECK(faults == 1 && seen[1] == (greg_t)(pages + 4096) && seen[2] == 200 && count == 0);
        CHECK(pages[4096 + 199] == i && to == pages + 4096 + 200);

        close_page();                                       /* read, change, write */
        __asm__ volatile("stc; adcq $5, %0" : "+m"(*(long *)(pages + 4096)) : : "cc");
        CHECK(faults == 1 && *(long *)(pages + 4096) == 6 + 0x0101010101010101 * (long)i);
        *(long *)(edge - 8) = 0;
    }
    return passed();
}
