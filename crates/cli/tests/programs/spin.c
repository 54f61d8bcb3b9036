/* Says so, and then calls one function that calls nothing, until SIGUSR1 comes, for some minutes at most. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile unsigned long sum;
static volatile sig_atomic_t over;

static void end(int signal)
{
    over = signal;
}

__attribute__((noinline)) static void spin(unsigned long rounds)
{
    while (rounds--) sum += rounds;
}

int main(void)
{
    signal(SIGUSR1, end);
    alarm(600);
    puts("ready");
    fflush(stdout);
    while (!over) spin(200000);
    return 0;
}
