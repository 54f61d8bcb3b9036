/* Every way in which exec fails; the program goes on with all it had, threads included.
 * build: -pthread -Wno-stringop-overread */
#include "torture.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

static atomic_int stop;
static atomic_ulong rounds;
static void *spins(void *unused) { while (!stop) { churn(1, 50); rounds++; } return unused; }

int main(void)
{
    char *argv[] = {"x", 0}, *empty[] = {0}, path[] = "/tmp/timewise-exec-XXXXXX";
    pthread_t thread;
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, "neither ELF nor script", 22) == 22);
    close(fd);
    CHECK(!pthread_create(&thread, 0, spins, 0));
    for (int i = 0; i < 20; i++) {
        CHECK(execve("/no/such/program", argv, empty) < 0 && errno == ENOENT);
        CHECK(execve("/etc/passwd/x", argv, empty) < 0 && errno == ENOTDIR);
        CHECK(execve("/tmp", argv, empty) < 0 && errno == EACCES);
        CHECK(!chmod(path, 0600) && execve(path, argv, empty) < 0 && errno == EACCES);
        CHECK(!chmod(path, 0700) && execve(path, argv, empty) < 0 && errno == ENOEXEC);
        CHECK(execve((char *)8, argv, empty) < 0 && errno == EFAULT);
        CHECK(execve("/bin/true", (char **)8, empty) < 0 && errno == EFAULT);
        pid_t pid = vfork();
        if (!pid) {
            execve(path, argv, empty);
            _exit(31);
        }
        CHECK(ended(pid) == 31);
    }
    unsigned long before = rounds;
    while (rounds == before) usleep(100);       /* the other thread still runs */
    stop = 1;
    CHECK(!pthread_join(thread, 0));
    unlink(path);
    return passed();
}
