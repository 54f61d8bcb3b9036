/* Signals that find functions in the middle of paths: one that the handler recurses in too, what a handler returns to,
   and where a long jump has just landed. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIGNAL __asm__ volatile("int3")

/* As the kernel has it. */
struct action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

static jmp_buf landing;
static volatile int handled;

/* What a handler returns to. Every other time a signal arrives there, whose handler returns to the same. */
void restore(void);
__asm__(".type restore, @function\n"
        "restore:\n"
        "    xorl $1, inner(%rip)\n"
        "    jz 1f\n"
        "    int3\n"
        "1:  movl $15, %eax\n"
        "    syscall\n"
        ".size restore, . - restore\n"
        ".local inner\n"
        ".comm inner, 4\n");

__attribute__((noinline)) static int descend(int depth) {
    if (depth == 0)
        return 1;
    return depth & 1 ? descend(depth - 1) + 1 : descend(depth - 1) * 2;
}

static void handle(int number) {
    (void)number;
    handled += descend(5);
}

__attribute__((noinline)) static int branches(int value) {
    int sum = 0;
    if (value & 1)
        sum += 3;
    SIGNAL;
    if (value & 2)
        sum ^= 5;
    if (value & 4) {
        SIGNAL;
        sum -= descend(value & 7);
    }
    return value & 8 ? sum : -sum;
}

__attribute__((noinline)) static void leap(int depth) {
    if (depth == 0)
        longjmp(landing, 1);
    leap(depth - 1);
    handled += 1000; /* never */
}

__attribute__((noinline)) static int land(int value) {
    volatile int kept = value;
    if (setjmp(landing)) {
        SIGNAL;
        return kept & 1 ? 2 : 3;
    }
    if (kept & 4)
        SIGNAL;
    leap(value & 3);
    return -1;
}

int main(void) {
    struct action action = {handle, 0x04000000 /* SA_RESTORER */ | SA_NODEFER, restore, 0};
    long sum = 0;
    if (syscall(SYS_rt_sigaction, SIGTRAP, &action, NULL, 8))
        return 1;
    for (int i = 0; i < 400; i++)
        sum += branches(i) + land(i);
    printf("%ld %d\n", sum, handled);
    return 0;
}
