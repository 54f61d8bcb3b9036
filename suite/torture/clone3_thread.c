/* A thread made by the raw clone3 system call with a stack and a thread pointer of our own, which
 * ends by the raw exit system call; the kernel clears its id and wakes us. */
#include "torture.h"
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>

static volatile int id;
static volatile uint64_t result;
static __attribute__((aligned(64))) char stack[65536], block[4096];

__attribute__((noinline, used)) static void body(void) { result = churn(77, 20000); }

int main(void)
{
    for (int i = 0; i < 50; i++) {
        struct clone_args arguments = {
            .flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                     CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
            .child_tid = (uint64_t)&id, .parent_tid = (uint64_t)&id, .tls = (uint64_t)(block + 2048),
            .stack = (uint64_t)stack, .stack_size = sizeof stack,
        };
        result = 0;
        long pid = SYS_clone3;
        __asm__ volatile("syscall\n"
                         "test %%rax, %%rax\n"
                         "jnz 1f\n"
                         "xor %%ebp, %%ebp\n"
                         "call *%[body]\n"
                         "mov %[quit], %%eax\n"
                         "xor %%edi, %%edi\n"
                         "syscall\n"
                         "1:"
                         : "+a"(pid)
                         : "D"(&arguments), "S"(sizeof arguments), [body] "b"(body), [quit] "i"(SYS_exit)
                         : "rcx", "r11", "rdx", "r8", "r9", "r10", "memory", "cc");
        if (pid == -ENOSYS) return skipped("no clone3");
        CHECK(pid > 0);
        for (int now; (now = id) != 0;) syscall(SYS_futex, &id, FUTEX_WAIT, now, 0, 0, 0);
        CHECK(result == churn(77, 20000));
    }
    return passed();
}
