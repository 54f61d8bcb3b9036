/* A compute loop interrupted by SIGALRM every 500 us (setitimer), and by a
 * synchronous SIGSEGV handler that steps over a faulting load with siglongjmp
 * and SIGUSR1 sent to itself. stdout does not depend on how often the timer
 * fires (that goes to stderr).  args: rounds */
#include "kernel.h"
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
static volatile sig_atomic_t ticks, usr;
static sigjmp_buf env;
static void on_alarm(int s) { (void)s; ticks++; }
static void on_usr(int s) { (void)s; usr++; }
static void on_segv(int s) { (void)s; siglongjmp(env, 1); }
static void install(int sig, void (*fn)(int), int flags)
{
    struct sigaction sa; memset(&sa, 0, sizeof sa);
    sa.sa_handler = fn; sa.sa_flags = flags; sigemptyset(&sa.sa_mask);
    if (sigaction(sig, &sa, 0)) { perror("sigaction"); exit(1); }
}
int main(int argc, char **argv)
{
    long rounds = arg(argc, argv, 1, 2000);
    volatile long faults = 0;
    static int *volatile bad = (int *)16;      /* never mapped */
    static char altstack[65536];
    stack_t ss = {.ss_sp = altstack, .ss_size = sizeof altstack};
    sigaltstack(&ss, 0);
    install(SIGALRM, on_alarm, SA_RESTART);
    install(SIGUSR1, on_usr, SA_RESTART);
    install(SIGSEGV, on_segv, SA_ONSTACK | SA_NODEFER);
    struct itimerval it = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &it, 0);
    uint64_t h = 1;
    for (volatile long k = 0; k < rounds; k++) {
        for (int i = 0; i < 100000; i++) h = mix(h, i);
        if (k % 10 == 0) {
            if (!sigsetjmp(env, 1)) h += *(volatile int *)bad; else faults++;
            raise(SIGUSR1);
        }
    }
    it = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &it, 0);
    fprintf(stderr, "ticks %ld\n", (long)ticks);
    printf("timer %016lx faults %ld usr %ld\n", (unsigned long)h, (long)faults, (long)usr);
    return 0;
}
