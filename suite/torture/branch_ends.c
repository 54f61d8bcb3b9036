/* Generated functions, each with a branch at the end of a page: what the branch leads to and what follows stand on
 * pages of their own, which change in turn. Either is executed first. One thread calls them under a storm of signals;
 * then several do, as they are, and between changes.
 * build: -pthread */
#include "torture.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { PAGE = 4096, FUNCTIONS = 8, ROUNDS = 24, CALLS = 4000, THREADS = 3 };

/* Of one that is taken where its argument is odd. */
typedef int function(int);
static struct { unsigned char *pages; int values[2]; function *code; } made[FUNCTIONS];

static volatile sig_atomic_t ticks;
static void tick(int signal) { ticks += signal == SIGALRM; }

/* Has a function return another value from the page behind the branch, 0, or the page that it leads to, 1. */
static void change(int number, int side, int value)
{
    unsigned char *page = made[number].pages + PAGE * (1 + side);
    CHECK(!mprotect(page, PAGE, PROT_READ | PROT_WRITE));
    page[0] = 0xb8;                                         /* mov $value, %eax; ret */
    memcpy(page + 1, &value, 4);
    page[5] = 0xc3;
    CHECK(!mprotect(page, PAGE, PROT_READ | PROT_EXEC));
    made[number].values[side] = value;
}

static void make(int number)
{
    unsigned char *pages = mmap(0, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    unsigned char *code = pages + PAGE - 10;
    memcpy(code, "\x40\xf6\xc7\x01\x0f\x85\x00\x10\x00\x00", 10);   /* test $1, %dil; jne PAGE behind */
    CHECK(!mprotect(pages, PAGE, PROT_READ | PROT_EXEC));
    made[number].pages = pages;
    made[number].code = (function *)code;
    for (int side = 0; side < 2; side++) change(number, side, 100 * number + side);
}

/* Calls all of them, odd numbers first for every other one. */
static void run(void)
{
    for (int number = 0; number < FUNCTIONS; number++)
        for (int i = number & 1; i < CALLS / FUNCTIONS; i++)
            CHECK(made[number].code(i) == made[number].values[i & 1]);
}

static pthread_barrier_t barrier;

static void *work(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        run();
        pthread_barrier_wait(&barrier);
    }
    return unused;
}

int main(void)
{
    for (int number = 0; number < FUNCTIONS; number++) make(number);
    struct itimerval often = {{0, 60}, {0, 60}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, tick);
    CHECK(!setitimer(ITIMER_REAL, &often, 0));
    run();
    for (int round = 0; round < ROUNDS; round++) {
        /* The last ones stay as they were when they were first executed. */
        for (int number = 0; number < FUNCTIONS - 2; number++)
            if ((round + number) % 3) change(number, (round + number) % 3 - 1, round * 1000 + number);
        do run();
        while (ticks < 50 * (round + 1));
    }
    CHECK(!setitimer(ITIMER_REAL, &never, 0));
    pthread_t threads[THREADS];
    CHECK(!pthread_barrier_init(&barrier, 0, THREADS + 1));
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], 0, work, 0));
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        run();
        pthread_barrier_wait(&barrier);
        for (int number = 0; number < FUNCTIONS; number++)
            if ((round + number) % 3) change(number, (round + number) % 3 - 1, round * 1000 + number);
    }
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], 0));
    return passed();
}
