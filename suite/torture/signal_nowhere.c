/* Jumps and calls to where there is no code: address 0, data, an unmapped page, a non-canonical address. The
 * handler finds the return address on the stack and goes back. */
#include "torture.h"
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

static volatile uintptr_t wanted;
static volatile sig_atomic_t faults;
static char data[64] = "not code";

static void handler(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    CHECK(signal == SIGSEGV);
    faults++;
    if (wanted >> 47) {         /* non-canonical: the fault is at the call, which pushed nothing */
        CHECK(((unsigned char *)registers[REG_RIP])[0] == 0xff);
        registers[REG_RIP] += 2;
        return;
    }
    CHECK((uintptr_t)registers[REG_RIP] == wanted && (uintptr_t)info->si_addr == wanted);
    registers[REG_RIP] = *(greg_t *)registers[REG_RSP];
    registers[REG_RSP] += 8;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    CHECK(!sigaction(SIGSEGV, &action, 0));
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED && !munmap(page, 4096));
    uintptr_t targets[] = {0, (uintptr_t)data, (uintptr_t)page, 0xdead00000000beef, 16};
    for (int i = 0; i < 250; i++) {
        wanted = targets[i % 5];
        __asm__ volatile("call *%%rax" : : "a"(wanted) : "memory", "cc");
    }
    CHECK(faults == 250);
    return passed();
}
