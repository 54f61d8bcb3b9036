/* Children execute code where their parent has memory that nobody touches before it is told to: a touch would wait for
 * ever for the page (userfaultfd). */
#include "torture.h"
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { SIZE = 65536, STEPS = 200, STRIDE = 4096 };

/* For each step: and edi, 255; je past the next; add edi, -1 or 1. Then the result. */
static void write_code(unsigned char *place)
{
    for (int at = 0; at < SIZE; at += STRIDE) {
        unsigned char *next = place + at;
        for (int step = 0; step < STEPS; step++) {
            const unsigned char code[] = {0x81, 0xe7, 0xff, 0, 0, 0, 0x74, 3, 0x83, 0xc7, step & 1 ? 1 : 0xff};
            memcpy(next, code, sizeof code);
            next += sizeof code;
        }
        memcpy(next, "\x89\xf8\xc3", 3);
    }
}

int main(void)
{
    const int protection = PROT_READ | PROT_WRITE | PROT_EXEC, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    unsigned char *place = mmap(0, SIZE, protection, flags, -1, 0);
    CHECK(place != MAP_FAILED);
    int faults = syscall(SYS_userfaultfd, O_CLOEXEC);
    if (faults < 0) return skipped("no userfaultfd");
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register all = {.range = {(uintptr_t)place, SIZE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    CHECK(!ioctl(faults, UFFDIO_API, &api) && !ioctl(faults, UFFDIO_REGISTER, &all));
    int first = -1;
    for (int child = 0; child < 20; child++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (!pid) {
            CHECK(mmap(place, SIZE, protection, flags | MAP_FIXED, -1, 0) == place);
            write_code(place);
            int sum = 0;
            for (int at = 0; at < SIZE; at += STRIDE)
                for (int start = 0; start < 40; start++) sum += ((int (*)(int))(place + at))(start);
            _exit(sum & 127);
        }
        int status = ended(pid);
        if (first < 0) first = status;
        CHECK(status == first && status < 128);
    }
    return passed();
}
