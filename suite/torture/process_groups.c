/* Process groups and sessions: signals to a group reach all its members and no other, waiting by group. */
#include "torture.h"
#include <signal.h>

int main(void)
{
    pid_t group = 0, others[3];
    int ready[2];
    char byte;
    CHECK(!pipe(ready));
    for (int i = 0; i < 4; i++) {
        pid_t pid = fork();
        if (!pid) {
            CHECK(!setpgid(0, i < 3 ? group : 0));
            CHECK(write(ready[1], "r", 1) == 1);
            for (volatile uint64_t v = 1;;) v = churn(v, 1000);
        }
        CHECK(pid > 0);
        if (!group) group = pid;
        setpgid(pid, i < 3 ? group : pid);
        if (i < 3) others[i] = pid;
        if (i == 3) {
            for (int n = 0; n < 4; n++) CHECK(read(ready[0], &byte, 1) == 1);
            CHECK(getpgid(others[2]) == group && getpgid(pid) == pid);
            CHECK(!killpg(group, SIGTERM));
            for (int n = 0; n < 3; n++) {
                int status;
                CHECK(waitpid(-group, &status, 0) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
            }
            CHECK(waitpid(-group, 0, 0) == -1 && errno == ECHILD);
            CHECK(!kill(pid, 0) && !kill(pid, SIGKILL));
            CHECK(ended(pid) == 1000 + SIGKILL);
        }
    }
    pid_t pid = fork();
    if (!pid) {
        CHECK(setsid() == getpid() && getpgrp() == getpid() && getsid(0) == getpid());
        _exit(12);
    }
    CHECK(ended(pid) == 12);
    return passed();
}
