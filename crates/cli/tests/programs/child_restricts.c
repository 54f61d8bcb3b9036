/* Asked to (SIGUSR1), forks a child that restricts its system calls to the least, or has them come to itself, and makes
 * none then. Asked once more (SIGTERM), both end, with the child's status. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DISPATCH = 59, ON = 1, ALLOW_CALLS = 0, BLOCK_CALLS = 1, ANSWER = 7 };
static volatile char selector;
static volatile struct { int is_restricted, ends; } *shared;

static void restrict_calls(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(1);
}

static void child(int comes_to_itself)
{
    if (!comes_to_itself) {
        restrict_calls();
    } else if (!prctl(DISPATCH, ON, 0, 0, &selector)) {
        selector = BLOCK_CALLS;
    }
    shared->is_restricted = 1;
    while (!shared->ends);
    selector = ALLOW_CALLS;
    syscall(SYS_exit_group, ANSWER);
}

int main(int count, char **arguments)
{
    sigset_t signals;
    int signal, status;
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, 0);
    if (write(1, "ready\n", 6) != 6 || sigwait(&signals, &signal)) return 1;
    pid_t pid = fork();
    if (!pid) child(count > 1 && !strcmp(arguments[1], "itself"));
    while (!shared->is_restricted) usleep(1000);
    if (write(1, "restricted\n", 11) != 11 || sigwait(&signals, &signal)) return 1;
    shared->ends = 1;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
