/* fork from one of several running threads: the child has that thread alone.
 * build: -pthread */
#include "torture.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int stop;
static atomic_ulong rounds;
static void *spins(void *unused) { while (!stop) { churn(rounds, 100); rounds++; } return unused; }

static void *forks(void *unused)
{
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (!pid) {
            unsigned long before = rounds;
            usleep(2000);
            CHECK(rounds == before);            /* the other thread is not here */
            CHECK(churn(9, 50000) == churn(9, 50000));
            _exit(i + 1);
        }
        CHECK(ended(pid) == i + 1);
    }
    return unused;
}

int main(void)
{
    pthread_t spinner, forker;
    CHECK(!pthread_create(&spinner, 0, spins, 0));
    CHECK(!pthread_create(&forker, 0, forks, 0));
    CHECK(!pthread_join(forker, 0));
    stop = 1;
    CHECK(!pthread_join(spinner, 0));
    return passed();
}
