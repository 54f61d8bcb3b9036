/* No C library at all: a static program that starts with its own code, has no thread pointer, lets its stack
 * be misaligned, and makes its system calls itself.
 * build: -static -nostdlib -nostartfiles -ffreestanding -fno-stack-protector -O2
 * ends: exit 23 */
static long call(long number, long a, long b, long c)
{
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return number;
}

static unsigned long collatz(unsigned long n)
{
    unsigned long steps = 0;
    for (; n != 1; steps++) n = n & 1 ? 3 * n + 1 : n / 2;
    return steps;
}

__attribute__((used)) static void begin(const unsigned long *stack)
{
    unsigned long most = 0, arguments = stack[0];
    for (unsigned long n = 1; n < 3000; n++) {
        unsigned long steps = collatz(n);
        if (steps > most) most = steps;
    }
    int right = most == 216 && arguments == 1;
    call(1, 1, (long)(right ? "right\n" : "wrong\n"), 6);
    call(231, right ? 23 : 24, 0, 0);
}

__asm__(".globl _start; _start: mov %rsp, %rdi; xor %ebp, %ebp; sub $3, %rsp; call begin; ud2");
