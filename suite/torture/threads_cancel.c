/* pthread_cancel in a system call and in a computation: a signal, then unwinding with clean-ups.
 * build: -pthread */
#include "torture.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int cleaned, started;
static void clean(void *unused) { (void)unused; cleaned++; }

static void *waits(void *unused)
{
    pthread_cleanup_push(clean, 0);
    started++;
    for (;;) pause();
    pthread_cleanup_pop(0);
    return unused;
}
static void *computes(void *unused)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    pthread_cleanup_push(clean, 0);
    started++;
    for (volatile uint64_t v = 1;;) v = churn(v, 10);
    pthread_cleanup_pop(0);
    return unused;
}

int main(void)
{
    for (int i = 0; i < 10; i++) {
        pthread_t threads[2];
        void *result;
        started = 0;
        CHECK(!pthread_create(&threads[0], 0, waits, 0));
        CHECK(!pthread_create(&threads[1], 0, computes, 0));
        while (started < 2) usleep(100);
        for (int t = 0; t < 2; t++) {
            CHECK(!pthread_cancel(threads[t]));
            CHECK(!pthread_join(threads[t], &result));
            CHECK(result == PTHREAD_CANCELED);
        }
    }
    CHECK(cleaned == 20);
    return passed();
}
