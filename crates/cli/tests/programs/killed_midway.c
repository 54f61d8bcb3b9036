/* Kills a command when it is about to make its Nth ptrace request from the first on by which it seizes a thread:
 * killed_midway N COMMAND... Ends with 0 if it did, with 3 if the command ended before. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    long wanted = atol(argv[1]), requests = 0;
    int status;
    pid_t command = fork();
    if (!command) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(argv[2], argv + 2);
        _exit(127);
    }
    waitpid(command, &status, 0);
    ptrace(PTRACE_SETOPTIONS, command, 0, PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    ptrace(PTRACE_SYSCALL, command, 0, 0);
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0) return 4;
        if (!WIFSTOPPED(status)) {
            if (thread == command) return 3;
            continue;
        }
        int signal = WSTOPSIG(status);
        if (signal == (SIGTRAP | 0x80)) {
            struct user_regs_struct registers;
            ptrace(PTRACE_GETREGS, thread, 0, &registers);
            int enters = (long)registers.rax == -ENOSYS && registers.orig_rax == SYS_ptrace;
            if (enters && (requests || registers.rdi == PTRACE_SEIZE) && ++requests == wanted) {
                kill(command, SIGKILL);
                return 0;
            }
        }
        /* Only signals that are not the trace's own are the command's. */
        int is_own = status >> 16 || signal == SIGSTOP || signal == SIGTRAP || signal == (SIGTRAP | 0x80);
        ptrace(PTRACE_SYSCALL, thread, 0, is_own ? 0 : signal);
    }
}
