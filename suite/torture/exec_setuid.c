/* A child that executes a setuid copy of this program: it must gain its user, counted or not.
 * warns: it is setuid or setgid */
#include "torture.h"
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
    if (argc > 1) return geteuid() == (uid_t)atoi(argv[1]) ? 50 : 51;
    if (geteuid() != 0) return skipped("only root can give a file away");
    char path[] = "/tmp/timewise-setuid-XXXXXX";
    int to = mkstemp(path), from = open("/proc/self/exe", O_RDONLY);
    struct stat size;
    CHECK(to >= 0 && from >= 0 && !fstat(from, &size));
    CHECK(sendfile(to, from, 0, size.st_size) == size.st_size);
    CHECK(!fchown(to, 65534, 65534) && !fchmod(to, 04755));
    close(to);
    pid_t pid = fork();
    if (!pid) {
        execl(path, argv[0], "65534", (char *)0);
        _exit(52);
    }
    int status = ended(pid);
    unlink(path);
    if (status == 51) return skipped("/tmp is mounted nosuid");
    CHECK(status == 50);
    return passed();
}
