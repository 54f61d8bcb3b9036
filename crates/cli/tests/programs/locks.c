/* Has all memory locked that it has and will have, says so, and works until SIGTERM comes, for some minutes at most. Then
   it says how much memory it took at most, in MiB, and whether what it maps is filled at once. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile sig_atomic_t over;
static volatile unsigned long sum;

static void end(int signal)
{
    over = signal;
}

int main(void)
{
    signal(SIGTERM, end);
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
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct rusage usage;
    if (page == MAP_FAILED || mincore(page, 4096, &is_there) || getrusage(RUSAGE_SELF, &usage)) return 4;
    printf("at most %ld MiB, filled: %d\n", usage.ru_maxrss / 1024, is_there & 1);
    return 0;
}
