/* Code in memory that may change keeps its flags from block to block, with signals arriving all the time, and finds those
 * that it had when other code has been put behind a jump. */
#include "torture.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

long mixed(long rounds);
extern const unsigned char mixed_end[], mixed_changed[];

/* Overflow and carry of each sum are read behind jumps. */
__asm__(".text\n.globl mixed, mixed_end, mixed_changed\n.type mixed, @function\n"
        "mixed: xor %eax, %eax; xor %edx, %edx; movabs $0x7123456789abcdef, %rcx\n"
        "1: add %rcx, %rax; jmp 2f\n"
        "2: seto %r8b; jmp mixed_changed\n"
        "mixed_changed: adc $0, %rdx; jmp 3f\n"
        "3: movzbl %r8b, %r8d; lea (%rdx,%r8,4), %rdx; rol $7, %rcx; dec %rdi; jmp 4f\n"
        "4: jnz 1b\n"
        "mov %rdx, %rax; ret\n"
        "mixed_end:\n.size mixed, . - mixed\n");

static volatile long alarms;

static void on_alarm(int signal)
{
    (void)signal;
    alarms++;
}

int main(void)
{
    const long rounds = 3000;
    unsigned char *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    memcpy(page, (void *)mixed, mixed_end - (const unsigned char *)mixed);
    unsigned char *changed = page + (mixed_changed - (const unsigned char *)mixed);
    long (*copied)(long) = (long (*)(long))page;
    CHECK(signal(SIGALRM, on_alarm) != SIG_ERR);
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    CHECK(!setitimer(ITIMER_REAL, &often, 0));
    long want = mixed(rounds);
    for (int i = 0; i < 1000; i++)
        CHECK(copied(rounds) == want);
    for (int i = 0; i < 300; i++) {
        changed[3] = i % 4; /* is added beside the carry */
        CHECK(copied(rounds) == want + i % 4 * rounds);
    }
    CHECK(!setitimer(ITIMER_REAL, &never, 0));
    CHECK(alarms > 10);
    return passed();
}
