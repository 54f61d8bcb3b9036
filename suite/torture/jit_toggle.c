/* Generated code under W^X: written, made executable, run, made writable, changed, again and again; and
 * made inaccessible between, when a call must fault. */
#include "torture.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static sigjmp_buf back;
static void handler(int signal) { siglongjmp(back, signal); }

int main(void)
{
    unsigned char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    int (*code)(void) = (int (*)(void))(page + 4090);       /* across the pages' border */
    signal(SIGSEGV, handler);
    for (volatile int i = 0; i < 1000; i++) {
        int value = i * 77;
        CHECK(!mprotect(page, 8192, PROT_READ | PROT_WRITE));
        page[4090] = 0xb8;                                  /* mov $value, %eax; ret */
        memcpy(page + 4091, &value, 4);
        page[4095] = i & 1 ? 0x90 : 0xc3;
        page[4096] = 0xc3;
        if (i % 10 == 3) {
            int why = sigsetjmp(back, 1);
            if (!why) code();
            CHECK(why == SIGSEGV);                          /* not executable now */
        }
        CHECK(!mprotect(page, 8192, PROT_READ | PROT_EXEC));
        CHECK(code() == value && code() == value);
        if (i % 10 == 5) {
            CHECK(!mprotect(page, 8192, PROT_NONE));
            int why = sigsetjmp(back, 1);
            if (!why) code();
            CHECK(why == SIGSEGV);
        }
    }
    return passed();
}
