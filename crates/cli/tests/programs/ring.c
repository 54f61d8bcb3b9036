/* Has the kernel work for it in a thread of its own (an io_uring that is polled), and works itself until SIGTERM comes. Ends
   with 77 where there is no such thing. */
#include <linux/io_uring.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t over;
static volatile unsigned long sum;

static void end(int signal)
{
    over = signal;
}

int main(void)
{
    struct io_uring_params parameters;
    memset(&parameters, 0, sizeof parameters);
    parameters.flags = IORING_SETUP_SQPOLL;
    parameters.sq_thread_idle = 3000;
    int ring = syscall(SYS_io_uring_setup, 8, &parameters);
    if (ring < 0) {
        perror("io_uring_setup");
        return 77;
    }
    signal(SIGTERM, end);
    alarm(600);
    puts("ready");
    fflush(stdout);
    while (!over)
        for (int i = 0; i < 200000; i++) sum += i;
    puts("done");
    return 0;
}
