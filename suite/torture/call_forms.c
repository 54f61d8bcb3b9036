/* System calls made by the program's own code: what they leave in rcx and r11, numbers that do not exist, the
 * 32-bit entry by int 0x80, and errors in every place. */
#include "torture.h"
#include <sys/syscall.h>

int main(void)
{
    for (int i = 0; i < 500; i++) {
        unsigned long result = SYS_getpid, after, here, flags;
        register unsigned long kept_flags __asm__("r11");
        __asm__ volatile("lea 1f(%%rip), %2; stc; pushf; pop %3; syscall; 1:"
                         : "+a"(result), "=&c"(after), "=&r"(here), "=&d"(flags), "=r"(kept_flags) : : "memory", "cc");
        unsigned long r11 = kept_flags;
        CHECK(result == (unsigned long)getpid() && after == here);
        CHECK((r11 & 0xcd5) == (flags & 0xcd5));
        CHECK(syscall(9999) == -1 && errno == ENOSYS);
        CHECK(syscall(-1l) == -1 && errno == ENOSYS);
        CHECK(syscall(SYS_write, 99, "x", 1) == -1 && errno == EBADF);
        CHECK(syscall(SYS_write, 1, (void *)8, 1) == -1 && errno == EFAULT);
        long old = 20, kept = 7;                            /* getpid of 32-bit programs */
        __asm__ volatile("int $0x80" : "+a"(old), "+b"(kept) : : "memory", "r8", "r9", "r10", "r11");
        CHECK((old == getpid() || old == -ENOSYS) && kept == 7);
    }
    return passed();
}
