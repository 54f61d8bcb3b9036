/* Changing ids in a threaded program: glibc interrupts every thread with a signal of its own.
 * build: -pthread */
#include "torture.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int stop;
static void *spins(void *unused) { for (uint64_t v = 1; !stop;) v = churn(v, 50); return unused; }
static void *waits(void *unused) { while (!stop) usleep(50); return unused; }

int main(void)
{
    pthread_t threads[2];
    CHECK(!pthread_create(&threads[0], 0, spins, 0));
    CHECK(!pthread_create(&threads[1], 0, waits, 0));
    for (int i = 0; i < 50; i++) {
        CHECK(!setresgid(-1, getegid(), -1));
        CHECK(!setresuid(-1, geteuid(), -1));
    }
    stop = 1;
    for (int i = 0; i < 2; i++) CHECK(!pthread_join(threads[i], 0));
    return passed();
}
