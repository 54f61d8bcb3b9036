/* Signals under a system call filter: what the program does not allow itself must not be called for it.
 * case: default signal 15
 * case: fault signal 11
 * case: handled exit 0
 * case: once signal 10
 * case: threads exit 0
 * case: no_stack exit 0
 * build: -pthread */
#include "torture.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>

/* Allows the calls listed, and kills the process for all others. */
static void allow(const int *calls, size_t count)
{
    struct sock_filter filter[64] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    size_t at = 1;
    for (size_t i = 0; i < count; i++) {
        filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
        filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {at, filter};
    CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

#define ALLOW(...) allow((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

/* Much code that has not run before, a little at a time. */
#define F(n) __attribute__((noinline)) static uint64_t f##n(uint64_t x) { for (int i = 0; i < 9; i++) x = x % (n + 3) ? x * (n | 1) + n : x / (n + 2); return x; }
#define F8(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7)
F8(1) F8(2) F8(3) F8(4) F8(5) F8(6) F8(7) F8(8)
F8(10) F8(20) F8(30) F8(40) F8(50) F8(60) F8(70) F8(80)
#define P(n) f##n##0, f##n##1, f##n##2, f##n##3, f##n##4, f##n##5, f##n##6, f##n##7
static uint64_t (*const functions[])(uint64_t) = {
    P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(10), P(20), P(30), P(40), P(50), P(60), P(70), P(80)};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static volatile sig_atomic_t taken;
static void take(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (signal != SIGALRM || info->si_signo != SIGALRM || info->si_code != SI_KERNEL) _exit(97);
    taken++;
}

static void handle(int signal, int flags)
{
    struct sigaction action = {.sa_sigaction = take, .sa_flags = SA_SIGINFO | flags};
    CHECK(!sigaction(signal, &action, 0));
}

/* Ticks go on through the filter. */
static void tick(void)
{
    struct itimerval often = {{0, 100}, {0, 100}};
    handle(SIGALRM, SA_RESTART);
    CHECK(!setitimer(ITIMER_REAL, &often, 0));
}

/* Until many ticks were taken: always the same work, with ever new code between. */
static void work(void)
{
    volatile uint64_t seed = 7;
    uint64_t first = churn(seed, 2000), value = 12345;
    for (int round = 0; taken < 2000; round++) {
        CHECK(churn(seed, 2000) == first);
        if (round % 20 == 0) value = functions[round / 20 % FUNCTIONS](value);
    }
    CHECK(value != 1);
}

static void nothing(int signal) { (void)signal; say(1, "once\n"); }

static void *thread(void *number)
{
    volatile uint64_t seed = (uint64_t)number;
    uint64_t first = churn(seed, 10000);
    for (int i = 0; i < 200; i++) CHECK(churn(seed, 10000) == first);
    return number;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    struct rlimit none = {0, 0};
    CHECK(!setrlimit(RLIMIT_CORE, &none));
    if (!strcmp(argv[1], "default")) {
        struct itimerval soon = {{0, 0}, {0, 50000}};
        pid_t parent = getpid();
        if (!fork()) {
            usleep(100000);
            kill(parent, SIGTERM);
            _exit(0);
        }
        handle(SIGALRM, 0);
        CHECK(!setitimer(ITIMER_REAL, &soon, 0));
        ALLOW(SYS_write, SYS_exit_group, SYS_rt_sigreturn);
        for (;;) churn(3, 1000);
    } else if (!strcmp(argv[1], "fault")) {
        ALLOW(SYS_write, SYS_exit_group);
        churn(3, 1000);
        *(volatile int *)8 = 1;
    } else if (!strcmp(argv[1], "handled")) {
        tick();
        ALLOW(SYS_write, SYS_exit_group, SYS_rt_sigreturn);
        work();
        passed();
        syscall(SYS_exit_group, 0);
    } else if (!strcmp(argv[1], "once")) {
        struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESETHAND};
        CHECK(!sigaction(SIGUSR1, &action, 0));
        pid_t self = getpid();
        ALLOW(SYS_write, SYS_exit_group, SYS_rt_sigreturn, SYS_kill);
        churn(3, 1000);
        CHECK(!kill(self, SIGUSR1));
        churn(3, 1000);
        CHECK(!kill(self, SIGUSR1));
    } else {
        int with_stack = strcmp(argv[1], "no_stack") ? SYS_sigaltstack : SYS_write;
        tick();
        ALLOW(SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_mmap, SYS_munmap,
              SYS_mprotect, SYS_madvise, SYS_clone, SYS_clone3, SYS_set_robust_list, SYS_rseq, SYS_futex,
              with_stack, SYS_gettid, SYS_getpid, SYS_wait4, SYS_rt_sigaction, SYS_getrandom, SYS_brk);
        for (int round = 0; round < 4; round++) {
            pthread_t threads[4];
            for (uintptr_t i = 0; i < 4; i++) CHECK(!pthread_create(&threads[i], 0, thread, (void *)(i + 1)));
            pid_t child = fork();
            if (!child) {
                thread((void *)9);
                _exit(33);
            }
            CHECK(child > 0 && ended(child) == 33);
            for (int i = 0; i < 4; i++) CHECK(!pthread_join(threads[i], 0));
        }
        CHECK(taken > 20);
        passed();
        syscall(SYS_exit_group, 0);
    }
    return 1;
}
