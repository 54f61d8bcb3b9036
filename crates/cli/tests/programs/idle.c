/* Two threads that block SIGTRAP: one works, the other never does anything. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void *idle(void *unused)
{
    for (;;) pause();
    return unused;
}

int main(void)
{
    sigset_t trap;
    pthread_t thread;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    pthread_sigmask(SIG_BLOCK, &trap, NULL);
    alarm(600);
    if (pthread_create(&thread, NULL, idle, NULL)) return 2;
    puts("ready");
    fflush(stdout);
    for (volatile unsigned long round = 0;; round++)
        ;
}
