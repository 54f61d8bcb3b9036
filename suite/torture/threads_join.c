/* Threads that return, call pthread_exit, and use thread-local storage with destructors.
 * build: -pthread */
#include "torture.h"
#include <pthread.h>
#include <stdatomic.h>

static _Thread_local uint64_t mine;
static pthread_key_t key;
static atomic_int destroyed;
static void destroy(void *value) { destroyed += value != 0; }

static void *work(void *argument)
{
    long me = (long)argument;
    pthread_setspecific(key, argument);
    mine = churn(me + 1, 20000);
    if (me & 1) pthread_exit((void *)mine);
    return (void *)mine;
}

int main(void)
{
    CHECK(!pthread_key_create(&key, destroy));
    for (int round = 0; round < 20; round++) {
        pthread_t threads[8];
        for (long i = 0; i < 8; i++) CHECK(!pthread_create(&threads[i], 0, work, (void *)i));
        for (long i = 0; i < 8; i++) {
            void *result;
            CHECK(!pthread_join(threads[i], &result));
            CHECK((uint64_t)result == churn(i + 1, 20000));
        }
    }
    CHECK(mine == 0);
    CHECK(destroyed == 20 * 7);     /* thread 0 stored a null value */
    return passed();
}
