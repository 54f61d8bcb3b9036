/* While a process is made, what its parent ignores is not blocked there: the kernel drops no signal that is, but
 * interrupts another thread for it. The child looks, for which its parent waits in the kernel. */
#include "torture.h"
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

static uint64_t blocked_by(pid_t pid)
{
    char path[40], line[200];
    uint64_t mask = 0;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *status = fopen(path, "r");
    CHECK(status);
    while (fgets(line, sizeof line, status) && sscanf(line, "SigBlk: %lx", &mask) != 1) {}
    fclose(status);
    return mask;
}

int main(void)
{
    signal(SIGUSR1, SIG_IGN);
    pid_t child = syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
    if (!child) {
        uint64_t mask = blocked_by(getppid());
        CHECK(!(mask >> (SIGCHLD - 1) & 1));
        CHECK(!(mask >> (SIGUSR1 - 1) & 1));
        _exit(0);
    }
    CHECK(child > 0 && ended(child) == 0);
    return passed();
}
