/* Traces a program that it executes, as strace and debuggers do. */
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    printf("%d\n", getpid());
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execlp("true", "true", NULL);
        return 1;
    }
    int status;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) ptrace(PTRACE_CONT, child, 0, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
