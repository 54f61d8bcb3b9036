/* Says what a program finds when it begins: open descriptors and blocked signals. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>

int main(void)
{
    for (int fd = 0; fd < 100; fd++)
        if (fcntl(fd, F_GETFD) >= 0) printf("descriptor %d\n", fd);
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, 0, &blocked);
    for (int signal = 1; signal <= 64; signal++)
        if (sigismember(&blocked, signal) == 1) printf("signal %d\n", signal);
    puts("began");
    return 7;
}
