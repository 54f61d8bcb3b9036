/* Works for five seconds, and restricts its system calls after one. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <time.h>

volatile long odd, even;

__attribute__((noinline)) static void work(long number)
{
    if (number & 1) odd++;
    else even++;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

int main(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    int is_confined = 0;
    for (double begun = seconds(); seconds() - begun < 5;) {
        for (long number = 0; number < 100000; number++) work(number);
        if (is_confined || seconds() - begun < 1) continue;
        is_confined = 1;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 1;
    }
    return 7;
}
