/* Locked instructions from several threads: no update is lost, cmpxchg16b included.
 * build: -pthread -mcx16 */
#include "torture.h"
#include <pthread.h>

static uint64_t added, bits, exchanged;
static __attribute__((aligned(16))) uint64_t pair[2];

static void add_pair(void)
{
    uint64_t low = pair[0], high = pair[1];
    unsigned char done;
    do
        __asm__ volatile("lock cmpxchg16b %1"
                         : "=@ccz"(done), "+m"(pair), "+a"(low), "+d"(high)
                         : "b"(low + 1), "c"(high + 2) : "memory");
    while (!done);
}
static void *work(void *argument)
{
    long me = (long)argument;
    for (int i = 0; i < 50000; i++) {
        __asm__ volatile("lock addq $3, %0" : "+m"(added) : : "cc");
        uint64_t one = 1;
        __asm__ volatile("lock xaddq %0, %1" : "+r"(one), "+m"(exchanged) : : "cc");
        __asm__ volatile("lock btcq %1, %0" : "+m"(bits) : "r"(me) : "cc");
        add_pair();
    }
    return 0;
}

int main(void)
{
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) CHECK(!pthread_create(&threads[i], 0, work, (void *)i));
    for (int i = 0; i < 4; i++) CHECK(!pthread_join(threads[i], 0));
    CHECK(added == 600000 && exchanged == 200000 && bits == 0);
    CHECK(pair[0] == 200000 && pair[1] == 400000);
    return passed();
}
