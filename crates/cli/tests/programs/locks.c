/* Has all memory locked that it has and will have, says so, and works until SIGTERM comes, for some minutes at most. Then
   it says how much memory it took and had locked at most, in MiB, and whether what it maps is filled at once. SIGUSR1 has
   it take back that its memory is locked, SIGUSR2 has it all locked again. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile sig_atomic_t over;
static volatile sig_atomic_t changed;
static volatile unsigned long sum;

static void end(int signal)
{
    over = signal;
}

static void change(int signal)
{
    changed = signal == SIGUSR1 ? munlockall() : mlockall(MCL_CURRENT | MCL_FUTURE);
    if (write(1, signal == SIGUSR1 ? "unlocked\n" : "locked\n", signal == SIGUSR1 ? 9 : 7) < 0) over = signal;
}

static long locked(void)
{
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (!strncmp(line, "VmLck:", 6)) sscanf(line + 6, "%ld", &kib);
    if (status) fclose(status);
    return kib / 1024;
}

int main(void)
{
    signal(SIGTERM, end);
    signal(SIGUSR1, change);
    signal(SIGUSR2, change);
    alarm(600);
    if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
        perror("mlockall");
        return 3;
    }
    puts("ready");
    fflush(stdout);
    while (!over)
        for (int i = 0; i < 200000; i++) sum += i;
    unsigned char is_there = 0;
    long had = locked();
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct rusage usage;
    if (page == MAP_FAILED || mincore(page, 4096, &is_there) || getrusage(RUSAGE_SELF, &usage)) return 4;
    printf("at most %ld MiB, %ld locked, filled: %d\n", usage.ru_maxrss / 1024, had, is_there & 1);
    return changed;
}
