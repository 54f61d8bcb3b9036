/* vfork: the child runs in the parent's memory and stack until it executes or exits. */
#include "torture.h"
#include <signal.h>

static volatile int shared;

__attribute__((noinline)) static int run(const char *program, const char *argument)
{
    pid_t pid = vfork();
    if (!pid) {
        shared++;
        execl(program, program, "-c", argument, (char *)0);
        _exit(127);
    }
    CHECK(pid > 0);
    return ended(pid);
}

int main(void)
{
    for (int i = 0; i < 20; i++) {
        CHECK(run("/bin/sh", "exit 4") == 4);
        CHECK(run("/no/such/program", "") == 127);
        pid_t pid = vfork();
        if (!pid) {
            shared++;
            if (i & 1) kill(getpid(), SIGKILL);
            _exit(6);
        }
        CHECK(ended(pid) == (i & 1 ? 1000 + SIGKILL : 6));
    }
    CHECK(shared == 60);
    return passed();
}
