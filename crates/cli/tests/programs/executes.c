/* Executes itself so many times as its argument says, by a thread beside others that call the system all the time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static char left[16];

static void *calls(void *unused) {
    (void)unused;
    for (;;) syscall(SYS_getppid);
    return 0;
}

static void *executes(void *unused) {
    (void)unused;
    execl("/proc/self/exe", "executes", left, (char *)0);
    return 0;
}

int main(int count, char **arguments) {
    int times = count > 1 ? atoi(arguments[1]) : 0;
    if (times == 0) {
        puts("0");
        return 0;
    }
    snprintf(left, sizeof left, "%d", times - 1);
    pthread_t thread;
    for (int i = 0; i < 3; i++) pthread_create(&thread, 0, calls, 0);
    pthread_create(&thread, 0, executes, 0);
    calls(0);
}
