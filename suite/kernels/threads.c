/* Thread behaviours in one binary.
 *   pool  N: 2 workers take items off a mutex/condvar queue
 *   churn N: N short-lived threads, two at a time (thread creation/exit, TLS)
 *   spin  N: 2 threads pass a token through an atomic (sharing, PAUSE loops with yield)
 *   false N: 2 threads bump neighbouring counters on one cache line
 * args: mode, N */
#define _GNU_SOURCE
#include "kernel.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, space = PTHREAD_COND_INITIALIZER;
static long queue[64], qhead, qtail, done, limit;
static atomic_ulong total;
static uint64_t work(uint64_t seed, int n) { for (int i = 0; i < n; i++) seed = mix(seed, i); return seed >> 40; }

static void *pool_worker(void *p)
{
    (void)p;
    for (;;) {
        pthread_mutex_lock(&mu);
        while (qhead == qtail && !done) pthread_cond_wait(&more, &mu);
        if (qhead == qtail) { pthread_mutex_unlock(&mu); return 0; }
        long item = queue[qhead++ % 64];
        pthread_cond_signal(&space);
        pthread_mutex_unlock(&mu);
        atomic_fetch_add(&total, work(item, 20000));
    }
}
static _Thread_local uint64_t tls;
static void *churn_worker(void *p) { tls = (uintptr_t)p; tls = work(tls, 2000); atomic_fetch_add(&total, tls); return 0; }
static atomic_long turn;
static void *spin_worker(void *p)
{
    long me = (intptr_t)p;
    for (long k = 0; k < limit; k++) {
        int tries = 0;
        while (atomic_load_explicit(&turn, memory_order_acquire) != me)
            if (++tries > 1000) { sched_yield(); tries = 0; } else __builtin_ia32_pause();
        total += work(k, 20);
        atomic_store_explicit(&turn, 1 - me, memory_order_release);
    }
    return 0;
}
static struct { volatile uint64_t v[8]; } __attribute__((aligned(64))) line;
static void *false_worker(void *p) { intptr_t me = (intptr_t)p; for (long k = 0; k < limit; k++) line.v[me] += k; return 0; }

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "pool";
    limit = arg(argc, argv, 2, 1000);
    pthread_t t[2];
    if (!strcmp(mode, "pool")) {
        for (int i = 0; i < 2; i++) pthread_create(t + i, 0, pool_worker, 0);
        for (long k = 0; k < limit; k++) {
            pthread_mutex_lock(&mu);
            while (qtail - qhead == 64) pthread_cond_wait(&space, &mu);
            queue[qtail++ % 64] = k;
            pthread_cond_signal(&more);
            pthread_mutex_unlock(&mu);
        }
        pthread_mutex_lock(&mu); done = 1; pthread_cond_broadcast(&more); pthread_mutex_unlock(&mu);
        for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    } else if (!strcmp(mode, "churn")) {
        for (long k = 0; k < limit; k += 2) {
            for (int i = 0; i < 2; i++) pthread_create(t + i, 0, churn_worker, (void *)(uintptr_t)(k + i));
            for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
        }
    } else {
        void *(*fn)(void *) = !strcmp(mode, "spin") ? spin_worker : false_worker;
        for (intptr_t i = 0; i < 2; i++) pthread_create(t + i, 0, fn, (void *)i);
        for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
        total += line.v[0] + line.v[1];
    }
    printf("threads %s %lu\n", mode, (unsigned long)total);
    return 0;
}
