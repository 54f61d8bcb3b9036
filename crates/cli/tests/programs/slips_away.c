/* Computes until a SIGTERM, or a minute has passed, and does meanwhile, after a SIGUSR1, what makes it hard to find again:
     namespaces  makes two children, each in a PID namespace of its own, that compute likewise;
     private     has nobody but root look into it.
   outlived: has a child in such a namespace wait for the end of standard input, and ends itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t asked, ended;

static void ask(int signal) { asked = signal; }
static void end(int signal) { ended = signal; }

static void compute(volatile sig_atomic_t *until) {
    static volatile unsigned long rounds;
    while (!*until) rounds++;
}

/* A child that is number 1 where it is. */
static pid_t child(void) { return syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0); }

static int outlived(void) {
    char byte;
    pid_t made = child();
    if (made == 0) while (read(0, &byte, 1) > 0);
    return made < 0 ? 77 : 0;
}

static int namespaces(void) {
    pid_t children[2];
    int status, failed = 0;
    for (int i = 0; i < 2; i++) {
        children[i] = child();
        if (children[i] == 0) {
            compute(&ended);
            _exit(getpid() != 1);
        }
        if (children[i] < 0) return 77;
    }
    printf("%d %d\n", children[0], children[1]);
    compute(&ended);
    for (int i = 0; i < 2; i++) {
        kill(children[i], SIGTERM);
        while (waitpid(children[i], &status, 0) < 0 && errno == EINTR);
        failed |= status != 0;
    }
    return failed;
}

static int private(void) {
    prctl(PR_SET_DUMPABLE, 0);
    puts("private");
    compute(&ended);
    return 0;
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    if (!strcmp(arguments[1], "outlived")) return outlived();
    signal(SIGUSR1, ask);
    signal(SIGTERM, end);
    signal(SIGALRM, end);
    alarm(60);
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    compute(&asked);
    return strcmp(arguments[1], "private") ? namespaces() : private();
}
