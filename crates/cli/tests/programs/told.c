/* Says after each signal how many of each kind have come in all, and which value came with the last one that had any, until
   a SIGINT ends it. With "apart" it leaves its process group first. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t interrupts, requests, hang_ups, others, value;

static void note(int signal, siginfo_t *about, void *context) {
    (void)context;
    interrupts += signal == SIGINT;
    requests += signal == SIGTERM;
    hang_ups += signal == SIGHUP;
    others += signal == SIGUSR1;
    if (about->si_code == SI_QUEUE) value = about->si_value.sival_int;
}

int main(int count, char **arguments) {
    if (count > 1 && !strcmp(arguments[1], "apart")) setpgid(0, 0);
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
    sigset_t told, none;
    sigemptyset(&none);
    sigemptyset(&told);
    for (int i = 0; i < 4; i++) {
        int signal = (int[]){SIGINT, SIGTERM, SIGHUP, SIGUSR1}[i];
        sigaddset(&told, signal);
        sigaction(signal, &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &told, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    for (int said = 0; !interrupts;) {
        sigsuspend(&none);
        /* Whoever observes us may have others. */
        int all = interrupts + requests + hang_ups + others;
        if (all > said) printf("TERM %d HUP %d USR1 %d INT %d value %d\n", requests, hang_ups, others, interrupts, value);
        said = all;
    }
    return 0;
}
