/* Code in the middle of a huge reservation, with nothing free near it: operands relative to the program
 * counter, calls, returns and jumps through memory, in code that may be written to and in code that may not. */
#include "torture.h"
#include <sys/mman.h>

/* long f(long n): sums over a loop, by operands of many kinds at the labels behind it. */
__asm__(".pushsection .rodata\n"
        "  .balign 4096\n"
        "far_begin:\n"
        "  mov $0, %eax\n"
        "  mov %edi, %ecx\n"
        "1: add far_addend(%rip), %rax\n"
        "  cmpb $5, far_byte(%rip)\n"
        "  jne 9f\n"
        "  push far_addend(%rip)\n"
        "  pop %rdx\n"
        "  lock xadd %rdx, far_word(%rip)\n"
        "  lea far_jump(%rip), %r8\n"
        "  mov %r8, far_pointer(%rip)\n"
        "  jmp *far_pointer(%rip)\n"
        "  ud2\n"
        "far_jump:\n"
        "  lea far_function(%rip), %rsi\n"
        "  mov %rsi, far_pointer(%rip)\n"
        "  call *far_pointer(%rip)\n"
        "  call far_function\n"
        "  movdqu far_vector(%rip), %xmm3\n"
        "  paddq %xmm3, %xmm3\n"
        "  movq %xmm3, %rdx\n"
        "  add %rdx, %rax\n"
        "  dec %ecx\n"
        "  jnz 1b\n"
        "9: ret\n"
        "far_function:\n"
        "  imul $3, far_addend(%rip), %rdx\n"
        "  add %rdx, %rax\n"
        "  ret\n"
        "  .balign 4096\n"
        "far_addend: .quad 7\n"
        "far_vector: .quad 1000, 2\n"
        "far_word: .quad 0\n"
        "far_pointer: .quad 0\n"
        "far_byte: .byte 5\n"
        "far_end:\n"
        ".popsection");
extern const char far_begin[], far_end[], far_word[];

int main(void)
{
    const size_t size = 16ul << 30;
    for (int round = 0; round < 4; round++) {
        char *all = mmap((void *)(0x100000000000 + round * (64ul << 30)), size, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(all != MAP_FAILED);
        char *code = all + size / 2;
        CHECK(!mprotect(code, 8192, PROT_READ | PROT_WRITE));
        memcpy(code, far_begin, far_end - far_begin);
        CHECK(!mprotect(code, 4096, PROT_READ | PROT_EXEC | (round & 1 ? PROT_WRITE : 0)));
        long (*f)(long) = (long (*)(long))(void *)code;
        for (long n = 1; n < 200; n++) CHECK(f(n) == n * (7 + 21 + 21 + 2000));
        long *word = (long *)(void *)(code + (far_word - far_begin));
        CHECK(*word == 7 * 199 * 200 / 2);
        CHECK(!munmap(all, size));
    }
    return passed();
}
