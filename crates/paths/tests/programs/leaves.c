/* Ways in which functions are left in the middle: signals that a thread sends itself and that end it, that it ignores,
   whose handlers come back, go on elsewhere or jump out; calls of what is no code; and the end of a process while
   another thread of it waits in the system. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf landing;
static volatile int handled;
static void (*volatile nowhere)(int) = (void (*)(int))16;

static void counts(int number) {
    handled += number & 1 ? 3 : 5;
}

static void jumps(int number) {
    handled += number;
    siglongjmp(landing, 1);
}

/* Skips an instruction of two bytes. */
static void skips(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

/* By one instruction of its own, so that a path goes on right behind the system call. */
__attribute__((noinline)) static int send(int number, int value) {
    long thread = gettid(), answer;
    int sum = value & 1 ? 2 : 7;
    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "0"((long)SYS_tkill), "D"(thread), "S"((long)number)
                     : "rcx", "r11", "memory");
    if (value & 2)
        sum += (int)answer + 1;
    return value & 4 ? sum : -sum;
}

__attribute__((noinline)) static int jump_out(int number, int value) {
    volatile int kept = value;
    if (sigsetjmp(landing, 1))
        return kept & 8 ? 11 : 13;
    if (value & 16)
        kept++;
    return send(number, value);
}

__attribute__((noinline)) static int call_nothing(int value) {
    volatile int kept = value;
    if (sigsetjmp(landing, 1))
        return kept & 1 ? 17 : 19;
    if (value & 2)
        kept += 2;
    nowhere(value);
    return kept;
}

__attribute__((noinline)) static int skip(int value) {
    int sum = value & 1;
    __asm__ volatile("ud2");
    if (value & 2)
        sum += 2;
    return sum;
}

static int word, other;

/* Until the other thread waits in the system: futex(&word, FUTEX_REQUEUE, 0, 1, &other) moves it. How often it has to
   be asked differs, so it is code that no file holds. */
static const uint8_t AWAIT[] = {
    0xb8, 0xca, 0x00, 0x00, 0x00,       /* mov eax, 202 */
    0xbe, FUTEX_REQUEUE, 0x00, 0x00, 0x00, /* mov esi, FUTEX_REQUEUE */
    0x31, 0xd2,                         /* xor edx, edx */
    0x41, 0xba, 0x01, 0x00, 0x00, 0x00, /* mov r10d, 1 */
    0x49, 0x89, 0xc8,                   /* mov r8, rcx */
    0x49, 0x89, 0xc9,                   /* mov r9, rcx */
    0x0f, 0x05,                         /* syscall */
    0x4c, 0x89, 0xc9,                   /* mov rcx, r9 */
    0x83, 0xf8, 0x01,                   /* cmp eax, 1 */
    0x75, 0xde,                         /* jne to the start */
    0xc3,                               /* ret */
};

typedef void await(int *, void *, void *, int *);

static void *ends(void *code) {
    ((await *)code)(&word, NULL, NULL, &other);
    send(SIGTERM, 1);
    return code;
}

__attribute__((noinline)) static void waits(int value) {
    void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    memcpy(code, AWAIT, sizeof AWAIT);
    if (pthread_create(&thread, NULL, ends, code))
        exit(1);
    if (value & 1)
        value += 3;
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
    exit(value);
}

static void child(int how) {
    signal(SIGTERM, SIG_DFL);
    if (how == 0)
        abort();
    else if (how == 1)
        raise(SIGTERM);
    else if (how == 2)
        send(SIGTERM, how);
    else if (how == 3)
        waits(how);
    else
        *(volatile int *)8 = how;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = skips, .sa_flags = SA_SIGINFO};
    struct rlimit none = {0, 0};
    int sum = 0;
    setrlimit(RLIMIT_CORE, &none);
    for (int i = 0; i < 64; i++) {
        signal(SIGUSR1, counts);
        signal(SIGUSR2, SIG_IGN);
        sum += send(SIGUSR1, i) + send(SIGUSR2, i);
        signal(SIGUSR2, counts);
        sum += raise(SIGUSR2);
        signal(SIGUSR1, jumps);
        sum += jump_out(SIGUSR1, i) + jump_out(SIGUSR2, i);
        signal(SIGSEGV, jumps);
        sum += call_nothing(i);
        sigaction(SIGILL, &action, NULL);
        sum += skip(i);
    }
    signal(SIGSEGV, SIG_DFL);
    for (int how = 0; how < 5; how++) {
        int status = 0;
        pid_t process = fork();
        if (process == 0)
            child(how);
        waitpid(process, &status, 0);
        sum += WTERMSIG(status);
    }
    printf("%d %d\n", sum, handled);
    return 0;
}
