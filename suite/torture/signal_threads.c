/* Signals to chosen threads while they compute, wait for locks and sleep: each thread gets its own.
 * build: -pthread */
#include "torture.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static __thread volatile sig_atomic_t mine;
static _Atomic int total, stop;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void handler(int signal) { (void)signal; mine++; total++; }

static void *computes(void *result) { uint64_t v = 1; while (!stop) v = churn(v + 1, 1000); *(int *)result = mine; return 0; }
static void *sleeps(void *result) { while (!stop) usleep(1000); *(int *)result = mine; return 0; }
static void *waits(void *result)
{
    pthread_mutex_lock(&lock);
    while (!stop) pthread_cond_wait(&never, &lock);
    pthread_mutex_unlock(&lock);
    *(int *)result = mine;
    return 0;
}

int main(void)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    CHECK(!sigaction(SIGURG, &action, 0));
    void *(*body[])(void *) = {computes, sleeps, waits};
    pthread_t threads[3];
    int results[3];
    for (int i = 0; i < 3; i++) CHECK(!pthread_create(&threads[i], 0, body[i], &results[i]));
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 3; i++) CHECK(!pthread_kill(threads[i], SIGURG));
        while (total < 3 * (round + 1)) usleep(50);     /* signals do not queue: wait for each */
    }
    stop = 1;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&never);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 3; i++) {
        CHECK(!pthread_join(threads[i], 0));
        CHECK(results[i] == 300);
    }
    CHECK(mine == 0);
    return passed();
}
