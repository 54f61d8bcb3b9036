/* The process ends while other threads compute, sleep, and wait in system calls.
 * build: -pthread
 * ends: exit 3 */
#include "torture.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int ready;
static volatile uint64_t sink;
static int pipes[2];

static void *spins(void *unused) { (void)unused; ready++; for (;;) sink = churn(sink + 1, 1000); return unused; }
static void *waits(void *unused) { char c; ready++; CHECK(read(pipes[0], &c, 1) == 2); return unused; }
static void *sleeps(void *unused) { ready++; for (;;) usleep(100); return unused; }

int main(void)
{
    pthread_t thread;
    CHECK(!pipe(pipes));
    CHECK(!pthread_create(&thread, 0, spins, 0));
    CHECK(!pthread_create(&thread, 0, waits, 0));
    CHECK(!pthread_create(&thread, 0, sleeps, 0));
    while (ready < 3) usleep(100);
    passed();
    exit(3);
}
