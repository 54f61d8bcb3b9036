/* Forked children and grandchildren: separate memory, exit statuses, an orphan that outlives its parent. */
#include "torture.h"

static uint64_t value = 1;

int main(void)
{
    int pipes[2];
    CHECK(!pipe(pipes));
    for (int i = 0; i < 12; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (!pid) {
            value += i;
            pid_t grandchild = fork();
            if (!grandchild) _exit(value == 1ul + i ? 11 : 12);
            _exit(ended(grandchild) == 11 ? i : 99);
        }
        CHECK(ended(pid) == i && value == 1);
    }
    pid_t parent = fork();
    if (!parent) {
        if (!fork()) {
            while (getppid() == parent) { }
            usleep(20000);
            uint64_t result = churn(3, 100000);
            CHECK(write(pipes[1], &result, sizeof result) == sizeof result);
            _exit(0);
        }
        _exit(0);
    }
    CHECK(ended(parent) == 0);
    uint64_t result;
    CHECK(read(pipes[0], &result, sizeof result) == sizeof result);
    CHECK(result == churn(3, 100000));
    return passed();
}
