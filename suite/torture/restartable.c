/* Restartable sequences: the C library's registration where there is one, and a per-processor counter by a
 * critical section that restarts when interrupted, or by an atomic add where rseq is refused.
 * build: -pthread */
#include "torture.h"
#include <linux/rseq.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/rseq.h>
#include <sys/syscall.h>

static _Atomic long atomic_sum;
static struct { long value; char pad[56]; } counters[1024];

/* Adds 1 to the counter of the processor that this runs on; 0 if it was interrupted. */
static int add(struct rseq *area)
{
    __asm__ goto(".pushsection __rseq_cs, \"aw\"; .balign 32; 7: .long 0, 0; .quad 1f, (2f - 1f), 4f; .popsection\n"
                 "lea 7b(%%rip), %%rax; mov %%rax, %1\n"
                 "1: mov %0, %%eax; shl $6, %%rax; add %2, %%rax; incq (%%rax); 2: jmp 5f\n"
                 ".pushsection .text.abort, \"ax\"; .long 0x53053053; 4: jmp %l3; .popsection; 5:"
                 : : "m"(area->cpu_id), "m"(area->rseq_cs), "r"(counters) : "rax", "memory", "cc" : interrupted);
    return 1;
interrupted:
    return 0;
}

static void *body(void *unused)
{
    struct rseq *area = (void *)((char *)__builtin_thread_pointer() + __rseq_offset);
    for (int i = 0; i < 200000; i++) {
        if (__rseq_size && (int)area->cpu_id >= 0) while (!add(area)) {}
        else atomic_sum++;
    }
    return unused;
}

int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(!pthread_create(&threads[i], 0, body, 0));
    for (int i = 0; i < 4; i++) CHECK(!pthread_join(threads[i], 0));
    long sum = atomic_sum;
    for (int i = 0; i < 1024; i++) sum += counters[i].value;
    CHECK(sum == 800000);
    return passed();
}
