/* Code that is never writable is written through /proc/self/mem, in each way in which a file can be written, and executed
   before and behind it. */
#define _GNU_SOURCE
#include "torture.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* mov $n, %eax; ret */
static unsigned char code[6] = {0xb8, 0, 0, 0, 0, 0xc3};

int main(void)
{
    int (*function)(void) = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK((void *)function != MAP_FAILED);
    int direct = open("/proc/self/mem", O_RDWR);
    int relative = openat(open("/proc/self", O_RDONLY | O_DIRECTORY), "mem", O_WRONLY);
    struct { unsigned long flags, mode, resolve; } how = {O_RDWR, 0, 0};
    int by_how = syscall(SYS_openat2, AT_FDCWD, "/proc/self/mem", &how, sizeof how);
    int files[] = {direct, relative, by_how < 0 ? direct : by_how};
    off_t at = (off_t)function;
    for (int round = 1; round <= 60; round++) {
        struct iovec parts[] = {{code, 2}, {code + 2, 4}};
        int file = files[round % 3];
        code[1] = round;
        CHECK(lseek(file, at, SEEK_SET) == at);
        switch (round % 5) {
        case 0: CHECK(pwrite(file, code, 6, at) == 6); break;
        case 1: CHECK(write(file, code, 6) == 6); break;
        case 2: CHECK(writev(file, parts, 2) == 6); break;
        case 3: CHECK(pwritev(file, parts, 2, at) == 6); break;
        case 4: CHECK(pwritev2(file, parts, 2, -1, 0) == 6); break;
        }
        for (int i = 0; i < 3; i++) CHECK(function() == round);
    }
    /* A file of another kind, at the same positions. */
    int other = fileno(tmpfile());
    CHECK(pwrite(other, code, 6, at & 0xfffffff) == 6);
    CHECK(function() == 60);
    puts("memory is what was written");
    return 0;
}
