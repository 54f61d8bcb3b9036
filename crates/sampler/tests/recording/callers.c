/* Callers of known names, compiled without frame pointers: callers MODE MILLIONS. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile uint64_t sink;
static uint64_t rounds;

NOINLINE void leaf(void) {
    uint64_t x = sink;
    for (uint64_t i = 0; i < rounds; i++) x = x * 6364136223846793005u + 1;
    sink = x;
}

/* Callers without frames of the usual form; in assembler, without unwind tables. */
void assembler_leaf(uint64_t rounds);
void assembler_framed(void (*callee)(void));

NOINLINE static void inner(void) { leaf(); sink++; }
NOINLINE static void outer(void) { inner(); sink++; }

/* Arguments on the stack and a variable that wants more alignment than the stack has. */
NOINLINE static void aligned(int a, int b, int c, int d, int e, int f, int g, int h) {
    volatile char buffer[256] __attribute__((aligned(64)));
    buffer[g] = (char)(a + b + c + d + e + f + h);
    leaf();
    sink += buffer[g];
}

NOINLINE static void through_assembler(void) { assembler_framed(leaf); sink++; }
NOINLINE static void to_assembler(void) { assembler_leaf(rounds); sink++; }

NOINLINE static void deep(int depth) {
    volatile char frame[1000];
    frame[depth] = 1;
    if (depth) deep(depth - 1); else leaf();
    sink += frame[depth];
}

static void handler(int signal, siginfo_t *about, void *context) {
    (void)signal, (void)about;
    leaf();
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

NOINLINE static void faulting(void) {
    __asm__ volatile("ud2");
    sink++;
}

NOINLINE static void interrupted(int flags) {
    static char memory[1 << 16];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigaltstack(&stack, 0);
    sigaction(SIGILL, &action, 0);
    faulting();
    sink++;
}

NOINLINE static void reading_clock(void) {
    struct timespec now;
    for (uint64_t i = 0; i < rounds / 20; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        sink += now.tv_nsec;
    }
}

NOINLINE static void calling_written_code(void) {
    /* push rbp; mov rbp,rsp; 1: dec rdi; jnz 1b; pop rbp; ret */
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};
    void *memory = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(memory, code, sizeof code);
    ((void (*)(uint64_t))memory)(rounds);
    sink++;
}

static void *thread(void *unused) { outer(); return unused; }

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const char *mode = argv[1];
    rounds = strtoull(argv[2], 0, 10) * 1000000;
    if (!strcmp(mode, "plain")) outer();
    if (!strcmp(mode, "aligned")) aligned(1, 2, 3, 4, 5, 6, 7, 8);
    if (!strcmp(mode, "through")) through_assembler();
    if (!strcmp(mode, "leaf")) to_assembler();
    if (!strcmp(mode, "deep")) deep(40);
    if (!strcmp(mode, "signal")) interrupted(0);
    if (!strcmp(mode, "own stack")) interrupted(SA_ONSTACK);
    if (!strcmp(mode, "clock")) reading_clock();
    if (!strcmp(mode, "jit")) calling_written_code();
    if (!strcmp(mode, "thread")) {
        pthread_t other;
        pthread_create(&other, 0, thread, 0);
        pthread_join(other, 0);
    }
    return 0;
}
