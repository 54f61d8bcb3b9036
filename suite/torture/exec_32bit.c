/* A child that executes a 32-bit program, written here byte by byte: exit(42) by int 0x80.
 * warns: it is a 32-bit program */
#include "torture.h"
#include <sys/stat.h>

static const unsigned char program[] = {
    0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 1, 0, 0, 0,
    0x54, 0x80, 0x04, 0x08, 52, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 52, 0, 32, 0, 1, 0, 0, 0, 0, 0, 0, 0,
    1, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x80, 0x04, 0x08, 0x00, 0x80, 0x04, 0x08,
    0x60, 0, 0, 0, 0x60, 0, 0, 0, 5, 0, 0, 0, 0x00, 0x10, 0, 0,
    0x31, 0xc0, 0x40, 0xb3, 42, 0xcd, 0x80, 0xf4, 0x90, 0x90, 0x90, 0x90,
};

int main(void)
{
    char path[] = "/tmp/timewise-32-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, program, sizeof program) == sizeof program && !fchmod(fd, 0700));
    close(fd);
    pid_t pid = fork();
    if (!pid) {
        execl(path, path, (char *)0);
        _exit(errno == ENOEXEC ? 43 : 44);
    }
    int status = ended(pid);
    unlink(path);
    if (status == 43) return skipped("this kernel executes no 32-bit programs");
    CHECK(status == 42);
    return passed();
}
