/* Workers that are forked, execute nothing, and work for a second or so of CPU time each. With an argument it does the
 * work of one of them itself. */
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 2 };

static int work(void)
{
    uint64_t value = 1;
    for (int i = 0; i < 200000000; i++) value = value % 7 ? value * 3 + i : value / 5;
    return value == 1;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) return work();
    for (int i = 0; i < WORKERS; i++)
        if (!fork()) _exit(work() ? 1 : 10 + i);
    int sum = 0, status;
    for (int i = 0; i < WORKERS; i++) {
        if (wait(&status) < 0 || !WIFEXITED(status)) return 1;
        sum += WEXITSTATUS(status);
    }
    printf("%d\n", sum);
    return 42;
}
