/* Waits in a state in which it cannot be attached to, or executes a program in it; or in one as in a container. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    const char *state = count > 1 ? arguments[1] : "";
    static long base;
    if (!strcmp(state, "gs") && syscall(SYS_arch_prctl, 0x1001, &base)) return 1;
    if (!strcmp(state, "seccomp") || !strcmp(state, "container")) {
        struct sock_filter no_events[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {4, no_events};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 1;
    }
    /* PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN: since Linux 6.3. */
    if (!strcmp(state, "unwritable") && prctl(65, 1, 0, 0, 0)) return 2;
    if (count > 2) return execvp(arguments[2], arguments + 2);
    if (!strcmp(state, "private") && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)) return 1;
    int is_traced = !strcmp(state, "traced");
    if (is_traced) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    int is_parent = is_traced && fork();
    /* The child traces its parent, and ends with it. */
    if (is_traced && !is_parent) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (ptrace(PTRACE_SEIZE, getppid(), 0, 0)) return 1;
    }
    if (!is_parent) {
        puts("ready");
        fflush(stdout);
    }
    for (;;) pause();
}
