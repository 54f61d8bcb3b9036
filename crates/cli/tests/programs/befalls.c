/* What the operating system does for a program, one kind of thing after the other; ends as a thread's program. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void handled(int signal) { (void)signal; }

static void *fails(void *unused) {
    (void)unused;
    for (int i = 0; i < 5; i++) open("/nonexistent", O_RDONLY);
    return 0;
}

static void *executes(void *unused) {
    (void)unused;
    execl("/bin/echo", "echo", "from a thread", (char *)0);
    return 0;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, fails, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    signal(SIGUSR1, handled);
    raise(SIGUSR1);
    if (fork() == 0) _exit(7);
    wait(0);
    if (vfork() == 0) {
        execl("/bin/true", "true", (char *)0);
        _exit(1);
    }
    wait(0);
    pid_t killed = fork();
    if (killed == 0) for (;;) pause();
    kill(killed, SIGKILL);
    wait(0);
    pthread_create(&threads[0], 0, executes, 0);
    for (;;) pause();
}
