/* Stopping and continuing: the parent sees each, and a computation goes on as if nothing had been. */
#include "torture.h"
#include <signal.h>

int main(void)
{
    int ends[2], go[2];
    uint64_t expected = churn(11, 3000000), found = 0;
    CHECK(!pipe(ends) && !pipe(go));
    pid_t child = fork();
    if (!child) {
        raise(SIGSTOP);
        found = churn(11, 3000000);
        CHECK(write(ends[1], &found, 8) == 8);
        char byte;                                  /* it must not end before all its stops were seen */
        CHECK(read(go[0], &byte, 1) == 1);
        _exit(3);
    }
    int status;
    CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    CHECK(!kill(child, SIGCONT) && waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status));
    for (int i = 0; i < 3; i++) {
        usleep(1000);
        CHECK(!kill(child, SIGTSTP));
        CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP);
        CHECK(!kill(child, SIGCONT));
    }
    CHECK(write(go[1], "", 1) == 1);
    CHECK(ended(child) == 3);
    CHECK(read(ends[0], &found, 8) == 8 && found == expected);
    return passed();
}
