/* Runs into faults that it handles, all the time, until it is told to end: 3 then. */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

static char *page;
static volatile sig_atomic_t over;

static void mend(int signal)
{
    (void)signal;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void end(int signal)
{
    (void)signal;
    over = 1;
}

int main(void)
{
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, mend);
    signal(SIGTERM, end);
    puts("ready");
    fflush(stdout);
    while (!over) {
        mprotect(page, 4096, PROT_NONE);
        *(volatile char *)page = 1;
    }
    return 3;
}
