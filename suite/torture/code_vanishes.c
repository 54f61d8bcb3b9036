/* Code that takes itself away: it unmaps its own page, makes it inexecutable, or maps other code over it,
 * and the instruction after the system call is what is there then. */
#include "torture.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static sigjmp_buf back;
static void *volatile where;

static void handler(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    where = info->si_addr;
    siglongjmp(back, 1);
}

/* syscall; mov $number, %eax; ret: called with the system call's number last of all. */
static unsigned char *code(unsigned char number)
{
    unsigned char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    memcpy(page, "\x0f\x05\xb8\0\0\0\0\xc3", 8);
    page[3] = number;
    CHECK(!mprotect(page, 4096, PROT_READ | PROT_EXEC));
    return page;
}

static long enter(void *page, long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("call *%[page]" : "+a"(number) : [page] "r"(page), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory", "cc");
    return number;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    CHECK(!sigaction(SIGSEGV, &action, 0));
    int file = memfd_create("code", 0);
    CHECK(file >= 0 && write(file, "\x0f\x05\xb8\x63\0\0\0\xc3", 8) == 8 && !ftruncate(file, 4096));
    for (volatile int i = 0; i < 60; i++) {
        unsigned char *volatile page = code(i);
        CHECK(enter(page, SYS_getpid, 0, 0, 0, 0, 0, 0) == i);
        CHECK(enter(page, SYS_mprotect, (long)page, 4096, PROT_READ | PROT_EXEC, 0, 0, 0) == i);
        where = 0;
        switch (i % 3) {
        case 0:
            if (!sigsetjmp(back, 1)) {
                enter(page, SYS_munmap, (long)page, 4096, 0, 0, 0, 0);
                CHECK(0);
            }
            CHECK(where == page + 2);
            break;
        case 1:
            if (!sigsetjmp(back, 1)) {
                enter(page, SYS_mprotect, (long)page, 4096, PROT_READ, 0, 0, 0);
                CHECK(0);
            }
            CHECK(where == page + 2 && !mprotect(page, 4096, PROT_READ | PROT_EXEC));
            CHECK(enter(page, SYS_getpid, 0, 0, 0, 0, 0, 0) == i);
            break;
        default:
            CHECK(enter(page, SYS_mmap, (long)page, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0) == 0x63);
            CHECK(enter(page, SYS_getpid, 0, 0, 0, 0, 0, 0) == 0x63);
        }
    }
    return passed();
}
