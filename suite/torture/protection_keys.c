/* Protection keys: the rights that go with them (PKRU) are a thread's own and last; a handler begins with none but to
 * what no key protects, and whom it interrupted has its own again; a fault tells the key; the kernel heeds the rights.
 * build: -pthread */
#include "torture.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { OF_HANDLERS = 0x55555554 };

static char *page;
static int key;
static volatile unsigned in_handler, of_fault;
static volatile int faults, ticks;

static unsigned rights(void)
{
    unsigned value, high;
    __asm__ volatile("rdpkru" : "=a"(value), "=d"(high) : "c"(0));
    return value;
}

static void set_rights(unsigned value)
{
    __asm__ volatile("wrpkru" : : "a"(value), "c"(0), "d"(0) : "memory");
}

static void handler(int signal)
{
    (void)signal;
    in_handler = rights();
    set_rights(0x55555550);
    ticks++;
}

static void fault(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    CHECK(info->si_code == SEGV_PKUERR && info->si_pkey == (unsigned)key && info->si_addr == page);
    of_fault = rights();
    faults++;
    CHECK(!pkey_mprotect(page, 4096, PROT_READ | PROT_WRITE, 0));
}

static void *other(void *unused)
{
    CHECK(rights() == *(unsigned *)unused);
    set_rights(0);
    return 0;
}

int main(void)
{
    key = pkey_alloc(0, PKEY_DISABLE_WRITE);
    if (key < 0) return skipped("no protection keys");
    struct sigaction on_fault = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO}, on_tick = {.sa_handler = handler};
    CHECK(!sigaction(SIGSEGV, &on_fault, 0) && !sigaction(SIGALRM, &on_tick, 0));
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED && !pkey_mprotect(page, 4096, PROT_READ | PROT_WRITE, key));
    unsigned own = rights();
    CHECK(own == ((OF_HANDLERS & ~(3u << 2 * key)) | 2u << 2 * key));
    page[0] = 1;
    CHECK(faults == 1 && of_fault == OF_HANDLERS && rights() == own && page[0] == 1);

    CHECK(!pkey_mprotect(page, 4096, PROT_READ | PROT_WRITE, key) && !pkey_set(key, PKEY_DISABLE_ACCESS));
    int ends[2];
    CHECK(!pipe(ends) && write(ends[1], page, 1) == -1 && errno == EFAULT);

    struct itimerval every = {{0, 500}, {0, 500}};
    for (unsigned mine = 0; mine <= 4; mine += 4) {
        set_rights(mine);
        ticks = 0;
        CHECK(!setitimer(ITIMER_REAL, &every, 0));
        for (uint64_t state = 1; ticks < 100;) {
            state = churn(state, 50);
            CHECK(rights() == mine);
        }
        CHECK(!setitimer(ITIMER_REAL, &(struct itimerval){0}, 0) && in_handler == OF_HANDLERS);
    }
    unsigned mine = rights();
    pthread_t thread;
    CHECK(!pthread_create(&thread, 0, other, &mine) && !pthread_join(thread, 0) && rights() == mine);
    return passed();
}
