/* A function of the program's own file is replaced by a longer one and put back, again and again: what the longer one
   ends with stands where nothing was executed before. */
#include "torture.h"
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static volatile int called;
__attribute__((noinline, used)) static int helper(int x) { called++; return x + 1; }

int patched(int);
__asm__(".text\n .p2align 12\n .type patched, @function\n"
        "patched: .cfi_startproc\n lea 3(%rdi), %eax\n ret\n .skip 28, 0x90\n .cfi_endproc\n .size patched, .-patched\n"
        " .p2align 12\n");

static int calls(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) sum += patched(i);
    return sum;
}

static void write_code(const unsigned char *code, int length, int while_executable)
{
    void *page = (void *)((uintptr_t)patched & ~4095ul);
    CHECK(!mprotect(page, 4096, PROT_READ | PROT_WRITE | (while_executable ? PROT_EXEC : 0)));
    memcpy((void *)patched, code, length);
    CHECK(!mprotect(page, 4096, PROT_READ | PROT_EXEC));
}

int main(void)
{
    /* sub $8, %rsp; call helper; add $8, %rsp; ret */
    unsigned char longer[14] = {0x48, 0x83, 0xec, 8, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 8, 0xc3};
    unsigned char before[14];
    int distance = (int)((intptr_t)helper - (intptr_t)patched - 9);
    memcpy(longer + 5, &distance, 4);
    memcpy(before, (void *)patched, 14);
    for (int round = 0; round < 6; round++) {
        CHECK(calls(10) == 45 + 3 * 10);
        write_code(longer, 14, round & 1);
        CHECK(calls(10) == 45 + 10);
        write_code(before, 14, round & 1);
    }
    CHECK(called == 60);
    return passed();
}
