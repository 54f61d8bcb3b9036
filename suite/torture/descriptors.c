/* File descriptors: none that the program did not open, the lowest free number each time, all of them closed
 * at once, every number re-used, and a limit of few. */
#include "torture.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Number of open descriptors of 3 and more, the listing's own apart. */
static int others(void)
{
    DIR *all = opendir("/proc/self/fd");
    int count = 0;
    CHECK(all);
    for (struct dirent *entry; (entry = readdir(all));) {
        int fd = atoi(entry->d_name);
        count += entry->d_name[0] != '.' && fd > 2 && fd != dirfd(all);
    }
    closedir(all);
    return count;
}

__attribute__((noinline)) static uint64_t fresh(uint64_t x) { return churn(x, 10) % 1000 + 1; }

int main(void)
{
    char text[40];
    snprintf(text, sizeof text, "%d inherited\n", others());
    say(1, text);
    CHECK(!syscall(SYS_close_range, 3, ~0u, 0));
    CHECK(open("/dev/null", O_RDONLY) == 3 && open("/dev/null", O_RDONLY) == 4);
    CHECK(dup2(3, 1000) == 1000 && !close(3));
    CHECK(!syscall(SYS_close_range, 3, ~0u, 0) && others() == 0);
    struct rlimit limit;
    CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
    int top = limit.rlim_cur < 65536 ? (int)limit.rlim_cur : 65536;
    for (int fd = 3; fd < top; fd++) close(fd);
    for (int fd = top - 300; fd < top; fd++) CHECK(dup2(0, fd) == fd);
    CHECK(others() == 300);
    pid_t pid = fork();                         /* a child works with all the high numbers taken */
    if (!pid) {
        execl("/bin/sh", "sh", "-c", "exit 8", (char *)0);
        _exit(9);
    }
    CHECK(ended(pid) == 8);
    for (int fd = top - 300; fd < top; fd++) CHECK(!close(fd));
    limit.rlim_cur = 4;
    CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
    CHECK(open("/dev/null", O_RDONLY) == 3 && open("/dev/null", O_RDONLY) == -1 && errno == EMFILE);
    CHECK(fresh(3) > 0);
    pid = fork();
    if (!pid) {
        close(0), close(2), close(3);
        _exit((int)(fresh(7) != 0) + 5);
    }
    CHECK(ended(pid) == 6);
    return passed();
}
