/* Works until it is attached to for the second time, restricts its system calls, and works on for two seconds of CPU time
 * after it was let go again. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { LONGEST_WAIT_S = 600 };

volatile long odd, even;

__attribute__((noinline)) static void work(long number)
{
    if (number & 1) odd++;
    else even++;
}

/* The file of whoever has attached to it; 0 if nobody has. */
static unsigned long attached(void)
{
    char line[4096];
    unsigned long file = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !file && fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:timewise")) sscanf(line, "%*s %*s %*s %*s %lu", &file);
    if (maps) fclose(maps);
    return file;
}

static void work_for(clock_t time)
{
    for (clock_t begun = clock(); clock() - begun < time;)
        for (long number = 0; number < 100000; number++) work(number);
}

int main(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    time_t deadline = time(0) + LONGEST_WAIT_S;
    unsigned long before = 0;
    for (int times = 0; times < 2 && time(0) < deadline;) {
        work_for(CLOCKS_PER_SEC / 100);
        unsigned long now = attached();
        times += now && now != before;
        before = now;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 1;
    while (attached() && time(0) < deadline) work_for(CLOCKS_PER_SEC / 100);
    work_for(2 * CLOCKS_PER_SEC);
    return 7;
}
