/* Executes itself so many times as its argument says, by another thread than the first one, which calls the system all the
   time, as do processes beside it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { OTHERS = 8 };

static char left[16];

static void call_while_child_of(pid_t parent) {
    while (getppid() == parent) {}
}

static void *executes(void *unused) {
    (void)unused;
    execl("/proc/self/exe", "executes", left, "again", (char *)0);
    return 0;
}

int main(int count, char **arguments) {
    int times = count > 1 ? atoi(arguments[1]) : 0;
    pid_t own = getpid();
    if (times == 0) {
        puts("done");
        return 0;
    }
    for (int i = 0; count == 2 && i < OTHERS; i++)
        if (fork() == 0) {
            call_while_child_of(own);
            _exit(0);
        }
    snprintf(left, sizeof left, "%d", times - 1);
    pthread_t thread;
    pthread_create(&thread, 0, executes, 0);
    call_while_child_of(getppid());
    return 1;
}
