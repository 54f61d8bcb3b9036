/* clone with shared memory but not as a thread: another process in the same address space. */
#include "torture.h"
#include <sched.h>
#include <signal.h>

static volatile uint64_t written;
static __attribute__((aligned(16))) char stack[65536];

static int child(void *argument)
{
    written = churn((uint64_t)argument, 30000);
    return 5;
}

int main(void)
{
    for (uint64_t i = 1; i < 20; i++) {
        pid_t pid = clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, (void *)i);
        CHECK(pid > 0);
        uint64_t here = churn(i, 30000);    /* at the same time */
        CHECK(ended(pid) == 5);
        CHECK(written == here);
    }
    return passed();
}
