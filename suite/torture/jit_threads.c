/* One thread patches a jump, in one aligned store, that others run: each sees the old way or the new one, and
 * after a hand-shake the new one.
 * build: -pthread */
#include "torture.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

static unsigned char *page;
static _Atomic int wanted, seen[2], stop;

static void *runs(void *argument)
{
    int me = (int)(intptr_t)argument, (*code)(void) = (int (*)(void))page;
    while (!stop) {
        int before = wanted, got = code();
        CHECK(got == 1 || got == 2);
        if (got == before) seen[me] = got;
    }
    return 0;
}

int main(void)
{
    page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    memcpy(page, "\xe9\x1b\0\0\0\x90\x90\x90", 8);             /* jmp to 32 or 64 */
    memcpy(page + 32, "\xb8\1\0\0\0\xc3", 6);
    memcpy(page + 64, "\xb8\2\0\0\0\xc3", 6);
    wanted = 1;
    pthread_t threads[2];
    for (intptr_t i = 0; i < 2; i++) CHECK(!pthread_create(&threads[i], 0, runs, (void *)i));
    for (int i = 0; i < 500; i++) {
        int next = i & 1 ? 1 : 2;
        uint64_t jump = 0x9090900000000000 | 0xe9 | (uint64_t)(next == 1 ? 27 : 59) << 8;
        seen[0] = seen[1] = 0;
        wanted = next;
        atomic_store((_Atomic uint64_t *)page, jump);
        while (seen[0] != next || seen[1] != next) {}
    }
    stop = 1;
    for (int i = 0; i < 2; i++) CHECK(!pthread_join(threads[i], 0));
    return passed();
}
