/* Threads whose system calls come to the program itself: of one from its beginning, of one now and then, of one those
 * that are made in some of its code. Its status says whether each was answered as it should be, until it was to end. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <ucontext.h>
#include <unistd.h>

enum { SET = 59, OFF = 0, OUTSIDE = 1, INSIDE = 2, ALLOW = 0, BLOCK = 1, UNKNOWN = 5000 };

static __thread volatile unsigned char selector;
static volatile int ends, ready, failed;

/* The only call that comes from somewhere else than the C library. */
extern const char foreign[], foreign_end[];
long foreign_call(long number, long argument);
__asm__(".text\n"
        "foreign:\n"
        ".globl foreign_call\n"
        "foreign_call: mov %rdi, %rax\n mov %rsi, %rdi\n syscall\n"
        "foreign_end: ret\n");

static void answer(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    selector = ALLOW;
    if (info->si_call_addr != foreign_end || registers[REG_RIP] != (greg_t)foreign_end) failed = signal;
    registers[REG_RAX] = info->si_syscall + registers[REG_RDI];
}

static void expect(int comes)
{
    for (long i = 0; i < 100; i++) {
        selector = BLOCK;
        long answered = foreign_call(UNKNOWN, i);
        selector = ALLOW;
        if (answered != (comes ? UNKNOWN + i : -ENOSYS)) failed = 1;
    }
}

static void set(int mode, uintptr_t offset, uintptr_t length, const volatile void *byte)
{
    if (prctl(SET, mode, offset, length, byte)) failed = 2;
}

static void *always(void *none)
{
    set(OUTSIDE, 0, 0, &selector);
    for (ready++; !ends;) expect(1);
    return none;
}

static void *now_and_then(void *none)
{
    for (ready++; !ends;) {
        expect(0);
        set(OUTSIDE, 4096, 4096, &selector);
        for (int i = 0; i < 100; i++) expect(1);
        usleep(100);
        set(OFF, 0, 0, 0);
    }
    return none;
}

static void *from_inside(void *none)
{
    /* Not in older kernels. */
    int comes = !prctl(SET, INSIDE, foreign, foreign_end + 1 - foreign, 0);
    for (ready++; !ends;) {
        expect(comes);
        usleep(100);
    }
    return none;
}

/* Since Linux 6.4 others are told of it. */
static int is_told(void)
{
    struct utsname system;
    int major = 0, minor = 0;
    uname(&system);
    sscanf(system.release, "%d.%d", &major, &minor);
    return major * 100 + minor >= 604;
}

int main(void)
{
    if (!is_told()) return puts("not told") < 0;
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, 0);
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, 0);
    void *(*const work[])(void *) = {always, now_and_then, from_inside};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(threads + i, 0, work[i], 0);
        while (ready <= i) usleep(1000);
    }
    puts("ready");
    fflush(stdout);
    int signal;
    sigwait(&term, &signal);
    ends = 1;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return failed;
}
