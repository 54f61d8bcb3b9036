/* Threads at work whose process restricts itself to the least: all of it ends at another system call. Or calls come to
 * the program itself, in a thread that makes none then. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
enum { THREADS = 3, WORK = 20000000 };
enum { DISPATCH = 59, ON = 1, ALLOW_CALLS = 0, BLOCK_CALLS = 1 };
static int done, ready;
static volatile char selector, came;

static void comes(int signal)
{
    selector = ALLOW_CALLS;
    came = signal;
}

static void work(void)
{
    uint64_t value = 1;
    for (int i = 0; i < WORK; i++) value = value % 7 ? value * 3 + i : value / 5;
    if (value == 1) abort();
}

static void *thread(void *none)
{
    __atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 2; i++) work();
    __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
    for (;;) work();
    return none;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int threads = strcmp(mode, "alone") ? THREADS : 0;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write), ALLOW(SYS_exit_group), ALLOW(SYS_rt_sigreturn),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    pthread_t all[THREADS];
    for (int i = 0; i < threads; i++) pthread_create(&all[i], 0, thread, 0);
    while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < threads) usleep(100);
    work();
    if (!strcmp(mode, "itself")) {
        signal(SIGSYS, comes);
        /* Not in older kernels. */
        prctl(DISPATCH, ON, 0, 0, &selector);
        selector = BLOCK_CALLS;
        for (int i = 0; i < 3; i++) work();
        selector = ALLOW_CALLS;
        if (came) return 4;
    } else if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
    else if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program)) return 2;
    work();
    while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < threads) work();
    if (write(1, "passed\n", 7) != 7) return 3;
    syscall(SYS_exit_group, 42);
}
