/* Code with a stack of its own, as Guile's is: what it calls takes the return address off the stack, keeps it on that
 * other stack, and jumps back. It stands where nothing tells of functions, and in the program. */
#include "torture.h"
#include <sys/mman.h>

long fibonacci(long n, void *stack);
extern const unsigned char fibonacci_end[];

__asm__(".text\n.globl fibonacci, fibonacci_end\n.type fibonacci, @function\n"
        "fibonacci:\n"
        "  sub $24, %rsi\n"
        "  lea 9f(%rip), %r11\n"
        "  mov %r11, (%rsi)\n"
        "1: cmp $2, %rdi\n" /* of rdi, with the address to go back to at (rsi) */
        "  jl 8f\n"
        "  sub $24, %rsi\n"
        "  mov %rdi, 8(%rsi)\n"
        "  dec %rdi\n"
        "  jmp 3f\n"
        "2: pop %r11\n"
        "  mov %r11, (%rsi)\n"
        "  jmp 1b\n"
        "3: call 2b\n"
        "  mov %rax, 16(%rsi)\n"
        "  mov 8(%rsi), %rdi\n"
        "  sub $2, %rdi\n"
        "  jmp 5f\n"
        "4: pop %r11\n"
        "  mov %r11, (%rsi)\n"
        "  jmp 1b\n"
        "5: call 4b\n"
        "  add 16(%rsi), %rax\n"
        "  add $24, %rsi\n"
        "  jmp *(%rsi)\n"
        "8: mov %rdi, %rax\n"
        "  jmp *(%rsi)\n"
        "9: ret\n"
        "fibonacci_end:\n.size fibonacci, . - fibonacci\n");

static char stack[1 << 16];

int main(void)
{
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    memcpy(page, (void *)fibonacci, fibonacci_end - (const unsigned char *)fibonacci);
    long (*copied)(long, void *) = (long (*)(long, void *))page;
    for (int n = 0; n < 20; n++)
        CHECK(fibonacci(n, stack + sizeof stack) == copied(n, stack + sizeof stack));
    CHECK(copied(24, stack + sizeof stack) == 46368);
    return passed();
}
