/* System call filters: what was not allowed must not be called, code not run before must still run, and a
 * trapped call must look like the program's own.
 * case: kill signal 31
 * case: errno exit 0
 * case: trap exit 0
 * case: generated exit 0
 * case: strict exit 51
 * case: strict_kill signal 9 */
#include "torture.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Allows write, exit, exit_group, rt_sigreturn and the two others; answers all else by `otherwise`. */
static void allow(int one, int other, unsigned otherwise)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write), ALLOW(SYS_exit), ALLOW(SYS_exit_group), ALLOW(SYS_rt_sigreturn),
        ALLOW(one), ALLOW(other),
        BPF_STMT(BPF_RET | BPF_K, otherwise),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* Code in memory that did not exist when the filter was installed, and is written to again. */
static void generated_code(void)
{
    /* mov eax, edi; add eax, 0x11; ret */
    static const unsigned char code[] = {0x89, 0xf8, 0x83, 0xc0, 0x11, 0xc3};
    unsigned char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    for (int add = 1; add < 100; add++) {
        memcpy(page, code, sizeof code);
        page[4] = add;
        CHECK(!mprotect(page, 4096, PROT_READ | PROT_EXEC));
        for (int i = 0; i < 100; i++) CHECK(((int (*)(int))page)(i) == i + add);
        CHECK(!mprotect(page, 4096, PROT_READ | PROT_WRITE));
    }
    unsigned char *open = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(open != MAP_FAILED);
    memcpy(open, code, sizeof code);
    for (int add = 1; add < 100; add++) {
        open[4] = add;
        CHECK(((int (*)(int))open)(1000) == 1000 + add);
    }
}

/* Much code that has not run before. */
#define F(n) __attribute__((noinline)) static uint64_t f##n(uint64_t x) { return x % (n + 3) ? x * (n | 1) + n : x / (n + 2); }
#define F4(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7)
F4(1) F4(2) F4(3) F4(4) F4(5) F4(6) F4(7) F4(8)
#define P(n) f##n##0, f##n##1, f##n##2, f##n##3, f##n##4, f##n##5, f##n##6, f##n##7
static uint64_t (*const functions[])(uint64_t) = {P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8)};

static void new_code(void)
{
    uint64_t value = 12345;
    for (int round = 0; round < 100; round++)
        for (int i = 0; i < 64; i++) value = functions[i](value);
    CHECK(value != 1);
}

static volatile sig_atomic_t trapped;
static void handler(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *at = (const unsigned char *)registers[REG_RIP];
    CHECK(signal == SIGSYS && info->si_syscall == SYS_getppid && info->si_call_addr == at);
    CHECK(at[-2] == 0x0f && at[-1] == 0x05);
    registers[REG_RAX] = 4321;
    trapped++;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    struct rlimit none = {0, 0};
    CHECK(!setrlimit(RLIMIT_CORE, &none));
    if (!strcmp(argv[1], "errno")) {
        allow(SYS_write, SYS_write, SECCOMP_RET_ERRNO | 77);
        new_code();
        CHECK(syscall(SYS_getppid) == -1 && errno == 77);
        CHECK(syscall(SYS_openat, -1, "/dev/null", 0) == -1 && errno == 77);
        passed();
        syscall(SYS_exit_group, 0);
    } else if (!strcmp(argv[1], "trap")) {
        struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
        CHECK(!sigaction(SIGSYS, &action, 0));
        allow(SYS_write, SYS_write, SECCOMP_RET_TRAP);
        new_code();
        for (int i = 0; i < 20; i++) CHECK(syscall(SYS_getppid) == 4321);
        CHECK(trapped == 20);
        passed();
        syscall(SYS_exit_group, 0);
    } else if (!strcmp(argv[1], "generated")) {
        allow(SYS_mmap, SYS_mprotect, SECCOMP_RET_KILL_PROCESS);
        generated_code();
        passed();
        syscall(SYS_exit_group, 0);
    } else if (!strcmp(argv[1], "kill")) {
        allow(SYS_write, SYS_write, SECCOMP_RET_KILL_PROCESS);
        new_code();
        say(1, "still here\n");
        syscall(SYS_getppid);
    } else {
        CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
        say(1, "strict\n");
        churn(4, 1000);
        if (!strcmp(argv[1], "strict_kill")) syscall(SYS_getppid);
        syscall(SYS_exit, 51);
    }
    return 1;
}
