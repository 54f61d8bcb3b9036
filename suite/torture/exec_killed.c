/* Children that are killed before, while and after they begin another program: their parent learns of each end. */
#include "torture.h"
#include <signal.h>

int main(int count, char **arguments)
{
    if (count > 1) {
        pause();
        return 0;
    }
    for (int i = 0; i < 100; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (!pid) {
            execl("/proc/self/exe", arguments[0], "again", (char *)0);
            _exit(1);
        }
        usleep(i * 70);
        CHECK(!kill(pid, SIGKILL));
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    return passed();
}
