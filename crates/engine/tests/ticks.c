/* A timer's signals, as many as there can be, in a loop of short blocks. */
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;

static void tick(int signal) { (void)signal, ticks++; }

int main(void) {
    struct itimerval often = {{0, 50}, {0, 50}};
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &often, 0);
    unsigned value = 1;
    while (ticks < 500) {
        value = value * 1664525 + 1013904223;
        if (value & 1 << 20) value ^= value >> 3;
        if (value & 1 << 25) value += 7;
    }
    return value == 0;
}
