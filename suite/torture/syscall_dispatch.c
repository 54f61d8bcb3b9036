/* System calls that come to the program itself, as emulators of other systems have them.
 * case: emulated exit 0
 * case: nested exit 0
 * case: settings exit 0
 * case: inside exit 0
 * case: inherited exit 0
 * case: ticks exit 0
 * case: default signal 31
 * case: ignored signal 31
 * case: blocked signal 31
 * case: value signal 31
 * case: unreadable signal 11
 * build: -pthread */
#include "torture.h"
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

enum { SET = 59, OFF = 0, OUTSIDE = 1, INSIDE = 2, ALLOW = 0, BLOCK = 1, UNKNOWN = 5000 };
enum { SIGNAL_CODE = 2 };

/* Two ways to call the system: only the first, and its way back from handlers, is of the program's choice. */
extern const char native[], native_end[], native_return[], foreign_call[], foreign[], foreign_end[];
long native_call(long number, long a, long b, long c, long d, long e);
long native_prctl(long mode, uintptr_t offset, uintptr_t length, const volatile void *byte);
__asm__(".text\n"
        "native:\n"
        "native_return: mov $15, %rax\n syscall\n"
        ".globl native_call\n"
        "native_call: mov %rdi, %rax\n mov %rsi, %rdi\n mov %rdx, %rsi\n mov %rcx, %rdx\n mov %r8, %r10\n mov %r9, %r8\n"
        " xor %r9d, %r9d\n syscall\n ret\n"
        ".globl native_prctl\n"
        "native_prctl: mov %rcx, %r8\n mov %rdx, %r10\n mov %rsi, %rdx\n mov %rdi, %rsi\n mov $59, %edi\n"
        " mov $157, %eax\n syscall\n ret\n"
        "native_end:\n"
        "foreign: mov %rdi, %rax\n mov %rsi, %rdi\n"
        "foreign_call: syscall\n"
        "foreign_end: ret\n");
#define foreign_made(number, argument) ((long (*)(long, long))(uintptr_t)foreign)(number, argument)

static volatile unsigned char selector;
static volatile int taken, depth, deepest;

static long set_range(const volatile void *byte)
{
    return native_prctl(OUTSIDE, (uintptr_t)native, native_end - native, byte);
}

/* Does what the call asks for, of an unknown one something of its own. */
static void take(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    int number = info->si_syscall;
    CHECK(signal == SIGSYS && info->si_signo == SIGSYS && info->si_code == SIGNAL_CODE && info->si_errno == 0);
    CHECK(info->si_arch == 0xc000003e);
    CHECK((greg_t)info->si_call_addr == registers[REG_RIP] && registers[REG_RIP] == registers[REG_RCX]);
    CHECK(registers[REG_RAX] == number && (registers[REG_R11] & ~0x10000) == (registers[REG_EFL] & ~0x10000));
    if (info->si_call_addr == foreign_end) CHECK(number >= UNKNOWN || number == SYS_getppid);
    taken++;
    depth++;
    if (depth > deepest) deepest = depth;
    if (number == UNKNOWN + 1 && registers[REG_RDI] > 0) {
        registers[REG_RAX] = foreign_made(number, registers[REG_RDI] - 1) + 1;
    } else if (number >= UNKNOWN) {
        registers[REG_RAX] = number * 2 + registers[REG_RDI];
    } else {
        registers[REG_RAX] = native_call(number, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                                         registers[REG_R10], registers[REG_R8]);
    }
    depth--;
}

/* The handler returns by a call that does not come to the program. */
static void handle(int signal, void (*handler)(int, siginfo_t *, void *), unsigned long flags)
{
    struct { const void *handler; unsigned long flags; const void *restorer; unsigned long mask; } action = {
        (const void *)(uintptr_t)handler, SA_SIGINFO | 0x04000000 | flags, native_return, 0};
    CHECK(!native_call(SYS_rt_sigaction, signal, (long)&action, 0, 8, 0));
}

static void emulated(void)
{
    handle(SIGSYS, take, 0);
    CHECK(!set_range(&selector));
    long parent = native_call(SYS_getppid, 0, 0, 0, 0, 0);
    CHECK(!taken && foreign_made(UNKNOWN, 0) == -ENOSYS && foreign_made(SYS_getppid, 0) == parent && !taken);
    selector = BLOCK;
    for (int i = 0; i < 1000; i++) CHECK(foreign_made(UNKNOWN + 2 + i, i) == 2 * (UNKNOWN + 2 + i) + i);
    CHECK(taken == 1000 && foreign_made(SYS_getppid, 0) == parent && taken == 1001);
    /* The C library's come as well, those included that make others of memory, signals and processes. */
    void *memory = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && !munmap(memory, 1 << 20) && taken == 1003);
    sigset_t signals;
    CHECK(!sigemptyset(&signals) && !sigprocmask(SIG_BLOCK, &signals, 0) && taken == 1004);
    CHECK(native_call(SYS_getppid, 0, 0, 0, 0, 0) == parent && taken == 1004);
    say(1, "by the handler\n");
    CHECK(taken == 1005);
    selector = ALLOW;
    CHECK(foreign_made(UNKNOWN, 0) == -ENOSYS && taken == 1005);
}

static void nested(void)
{
    static char stack[1 << 17];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    CHECK(!sigaltstack(&own, 0));
    handle(SIGSYS, take, SA_NODEFER | SA_ONSTACK);
    CHECK(!set_range(&selector));
    selector = BLOCK;
    for (int i = 0; i < 20; i++) CHECK(foreign_made(UNKNOWN + 1, 9) == 2 * (UNKNOWN + 1) + 9);
    CHECK(taken == 200 && deepest == 10);
}

static void told(const char *what, long result)
{
    char line[80];
    snprintf(line, sizeof line, "%s: %ld\n", what, result);
    native_call(SYS_write, 1, (long)line, strlen(line), 0, 0);
}

/* What the kernel says is printed, and to be the same. */
static void settings(void)
{
    handle(SIGSYS, take, 0);
    told("off", native_prctl(OFF, 0, 0, 0));
    told("off with an address", native_prctl(OFF, 1, 0, 0));
    told("off with a length", native_prctl(OFF, 0, 1, 0));
    told("off with a byte", native_prctl(OFF, 0, 0, &selector));
    told("a mode", native_prctl(3, 0, 0, 0));
    told("a high mode", native_prctl(1L << 32 | OUTSIDE, 0, 0, 0));
    told("nothing", native_prctl(OUTSIDE, 4096, 0, &selector));
    told("around the end", native_prctl(OUTSIDE, 4096, -4096L, &selector));
    told("no byte", native_prctl(OUTSIDE, 0, -1L, (void *)(1L << 63)));
    told("nothing, and no byte", native_prctl(OUTSIDE, 4096, 0, (void *)(1L << 63)));
    told("inside nothing", native_prctl(INSIDE, 4096, 0, &selector));
    told("inside, around the end", native_prctl(INSIDE, 4096, -4096L, &selector));
    told("inside, and no byte", native_prctl(INSIDE, 4096, 4096, (void *)(1L << 63)));
    CHECK(foreign_made(UNKNOWN, 0) == -ENOSYS && !taken);
    told("all", set_range(0));
    CHECK(foreign_made(UNKNOWN, 7) == 2 * UNKNOWN + 7 && taken == 1);
    /* What the kernel does not take changes nothing. */
    told("no byte", native_prctl(OUTSIDE, (uintptr_t)native, native_end - native, (void *)(1L << 63)));
    told("a mode", native_prctl(9, 0, 0, 0));
    CHECK(foreign_made(UNKNOWN, 8) == 2 * UNKNOWN + 8 && taken == 2);
    told("none", native_prctl(OUTSIDE, 0, -1L, 0));
    CHECK(foreign_made(UNKNOWN, 0) == -ENOSYS && taken == 2);
    told("all", set_range(0));
    CHECK(foreign_made(UNKNOWN, 9) == 2 * UNKNOWN + 9 && taken == 3);
    /* The call that ends it is one of the program's as well. */
    told("off", prctl(SET, OFF, 0, 0, 0));
    CHECK(foreign_made(UNKNOWN, 0) == -ENOSYS && taken == 4);
}

static void inside(void)
{
    handle(SIGSYS, take, 0);
    if (native_prctl(INSIDE, (uintptr_t)foreign, foreign_end + 1 - foreign, 0)) {
        say(1, "as in older kernels\n");
        return;
    }
    CHECK(foreign_made(UNKNOWN, 7) == 2 * UNKNOWN + 7 && taken == 1);
    CHECK(syscall(UNKNOWN) < 0 && errno == ENOSYS && taken == 1);
    CHECK(!native_prctl(INSIDE, (uintptr_t)foreign, foreign_end - foreign, 0));
    CHECK(foreign_made(UNKNOWN, 7) == -ENOSYS && taken == 1);
}

static void *thread(void *none)
{
    for (int i = 0; i < 100; i++) CHECK(foreign_made(UNKNOWN, 0) == -ENOSYS);
    /* Threads have settings of their own. */
    static volatile unsigned char own = BLOCK;
    int before = __atomic_load_n(&taken, __ATOMIC_SEQ_CST);
    CHECK(!set_range(&own));
    for (int i = 0; i < 100; i++) CHECK(foreign_made(UNKNOWN, i) == 2 * UNKNOWN + i);
    CHECK(taken == before + 100);
    return none;
}

static void inherited(char **arguments)
{
    handle(SIGSYS, take, 0);
    CHECK(!set_range(&selector));
    for (int i = 0; i < 10; i++) {
        pthread_t other;
        selector = ALLOW;
        CHECK(!pthread_create(&other, 0, thread, 0));
        pthread_join(other, 0);
        pid_t child = fork();
        if (!child) {
            selector = BLOCK;
            CHECK(foreign_made(UNKNOWN, 0) == -ENOSYS);
            thread(0);
            _exit(33);
        }
        CHECK(ended(child) == 33);
        child = vfork();
        if (!child) {
            selector = BLOCK;
            _exit(foreign_made(UNKNOWN, 0) == -ENOSYS ? 34 : 35);
        }
        CHECK(selector == BLOCK);
        int before = taken;
        CHECK(foreign_made(UNKNOWN, 7) == 2 * UNKNOWN + 7 && taken == before + 1);
        selector = ALLOW;
        CHECK(ended(child) == 34);
    }
    /* A program that cannot be executed takes nothing away, one that is executed knows of nothing. */
    selector = ALLOW;
    char *nothing = 0;
    CHECK(execve("/nowhere", arguments, &nothing) == -1);
    selector = BLOCK;
    CHECK(foreign_made(UNKNOWN, 7) == 2 * UNKNOWN + 7);
    char *again[] = {arguments[0], "executed", 0};
    native_call(SYS_execve, (long)arguments[0], (long)again, (long)&nothing, 0, 0);
}

static volatile int ticked;
static void tick(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    if (foreign_made(UNKNOWN, ticked) != 2 * UNKNOWN + ticked) _exit(97);
    ticked++;
}

/* Other signals come before, behind and inside of those calls. */
static void ticks(void)
{
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    /* A blocked one would end the program. */
    handle(SIGSYS, take, SA_NODEFER);
    handle(SIGALRM, tick, SA_RESTART);
    CHECK(!set_range(&selector));
    CHECK(!setitimer(ITIMER_REAL, &often, 0));
    selector = BLOCK;
    long made = 0;
    volatile uint64_t seed = 7;
    uint64_t first = churn(seed, 50);
    for (; ticked < 1000; made++) {
        CHECK(foreign_made(UNKNOWN + 2, made) == 2 * (UNKNOWN + 2) + made);
        if (made % 16 == 0) CHECK(churn(seed, 50) == first);
    }
    CHECK(!setitimer(ITIMER_REAL, &never, 0));
    selector = ALLOW;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    struct rlimit none = {0, 0};
    CHECK(!setrlimit(RLIMIT_CORE, &none));
    if (native_prctl(OFF, 0, 0, 0)) return skipped("the kernel does not have system calls come to programs");
    const char *mode = argv[1];
    handle(SIGSEGV, take, 0);
    if (!strcmp(mode, "emulated")) emulated();
    else if (!strcmp(mode, "nested")) nested();
    else if (!strcmp(mode, "settings")) settings();
    else if (!strcmp(mode, "inside")) inside();
    else if (!strcmp(mode, "inherited")) inherited(argv);
    else if (!strcmp(mode, "executed")) CHECK(foreign_made(UNKNOWN, 0) == -ENOSYS);
    else if (!strcmp(mode, "ticks")) ticks();
    else {
        if (strcmp(mode, "default")) handle(SIGSYS, take, 0);
        if (!strcmp(mode, "ignored")) signal(SIGSYS, SIG_IGN);
        sigset_t signals;
        sigemptyset(&signals);
        sigaddset(&signals, SIGSYS);
        if (!strcmp(mode, "blocked")) sigprocmask(SIG_BLOCK, &signals, 0);
        int is_unreadable = !strcmp(mode, "unreadable");
        CHECK(!set_range(is_unreadable ? (void *)64 : &selector));
        selector = strcmp(mode, "value") ? BLOCK : 2;
        foreign_made(UNKNOWN, 0);
    }
    return passed();
}
