/* A process that executes itself again and again, by path, by descriptor and through a script. */
#include "torture.h"
#include <fcntl.h>
#include <sys/syscall.h>

int main(int argc, char **argv)
{
    (void)argc;
    const char *left = getenv("LEFT"), *id = getenv("ID");
    int n = left ? atoi(left) : 12;
    char next[24], self[24];
    if (id) CHECK(atoi(id) == getpid());
    snprintf(next, sizeof next, "LEFT=%d", n - 1);
    snprintf(self, sizeof self, "ID=%d", getpid());
    char *environment[] = {next, self, 0};
    char *arguments[] = {argv[0], 0};
    CHECK(churn(n, 5000) == churn(n, 5000));
    if (n == 0) return passed();
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    if (n % 3 == 0) execve("/proc/self/exe", arguments, environment);
    if (n % 3 == 1) syscall(SYS_execveat, fd, "", arguments, environment, AT_EMPTY_PATH);
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    CHECK(length > 0);
    path[length] = 0;
    char *shell[] = {"sh", "-c", "exec \"$0\"", path, 0};
    execve("/bin/sh", shell, environment);
    CHECK(!"exec");
}
