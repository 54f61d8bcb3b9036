/* Code in writable and executable memory, patched while running: an immediate, a call's target, the next
 * instruction but one of the running code itself, and a loop's own body. */
#include "torture.h"
#include <sys/mman.h>

static unsigned char *page;

static void emit(unsigned char **at, const char *bytes, int length) { memcpy(*at, bytes, length); *at += length; }

int main(void)
{
    page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    int (*code)(int) = (int (*)(int))page;

    emit(&(unsigned char *){page}, "\xb8\0\0\0\0\xc3", 6);          /* mov $n, %eax; ret */
    for (int i = 0; i < 3000; i++) {
        memcpy(page + 1, &i, 4);
        CHECK(code(0) == i);
    }

    /* lea (%rdi,%rdi), %eax; ret and lea (%rdi,%rdi,2), %eax; ret, called by a call that is patched */
    unsigned char *at = page + 64;
    emit(&at, "\x8d\x04\x3f\xc3", 4);
    at = page + 128;
    emit(&at, "\x8d\x04\x7f\xc3", 4);
    at = page;
    emit(&at, "\xe8\0\0\0\0\xff\xc0\xc3", 8);                       /* call n; inc %eax; ret */
    for (int i = 0; i < 3000; i++) {
        int distance = (i & 1 ? 64 : 128) - 5;
        memcpy(page + 1, &distance, 4);
        CHECK(code(i) == i * (i & 1 ? 2 : 3) + 1);
    }

    /* The code changes its own next instructions: movl %edi, imm(%rip); mov $imm, %eax; ret. */
    at = page;
    emit(&at, "\x89\x3d\x01\0\0\0\xb8\0\0\0\0\xc3", 12);
    for (int i = 0; i < 3000; i++) CHECK(code(i) == i);

    /* A loop that patches the body it is in: adds 1, then 2, then 3, …
     * xor %eax,%eax; mov $4,%ecx; 1: add $n,%eax; incb n; dec %ecx; jnz 1b; ret */
    at = page;
    emit(&at, "\x31\xc0\xb9\x04\0\0\0\x83\xc0\x01\xfe\x05\xf9\xff\xff\xff\xff\xc9\x75\xf3\xc3", 21);
    for (int i = 0; i < 500; i++) {
        page[9] = 1;
        CHECK(code(0) == 1 + 2 + 3 + 4);
    }
    return passed();
}
