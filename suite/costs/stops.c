/* What being stopped by a sample takes, in the midst of much code: pieces of work (1: how many) that are alike, some 150
 * microseconds each, are timed one by one, and those in which a signal came are compared with those in which none did,
 * and so are those right behind them, which find caches and predictors as the signal left them. That it came shows by
 * what the kernel wrote to the signal stack. Pieces in which the kernel's timer ticked, on whichever processor it moves
 * the coarse clock on, are compared with each other: the tick comes with or without a signal. With "own" (2) the program
 * opens a sampling event itself, whose signal does nothing. Prints the number of signals, of how many in a piece with a
 * tick, what one takes, and what a tick takes without one, in microseconds. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 4000, WORDS = 1 << 16, MARKS = 64, FIRST = 1000, PERIOD_NS = 9500000 };

static uint64_t data[WORDS];

/* A function of its own for each number: branches that depend on data, which lie apart. */
#define ONE(n)                                                  \
    __attribute__((noinline)) static uint64_t f##n(uint64_t x)  \
    {                                                           \
        if (x & 1 << n % 8)                                     \
            x += data[(x >> 3) % WORDS];                        \
        else                                                    \
            x ^= data[n * 7919 % WORDS] * 3;                    \
        if (x >> 5 & 1 << n % 4)                                \
            data[n * 104729 % WORDS] = x;                       \
        else                                                    \
            x = x * (2 * n + 1) + data[n * 1299709LL % WORDS];  \
        for (int i = 0; i < (int)(x & 3); i++)                  \
            x += data[(n * 31 + i) % WORDS];                    \
        return x;                                               \
    }
#define NAME(n) f##n,
#define TEN(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define HUNDRED(m, n) \
    TEN(m, n##0) TEN(m, n##1) TEN(m, n##2) TEN(m, n##3) TEN(m, n##4) \
    TEN(m, n##5) TEN(m, n##6) TEN(m, n##7) TEN(m, n##8) TEN(m, n##9)
#define THOUSAND(m, n) \
    HUNDRED(m, n##0) HUNDRED(m, n##1) HUNDRED(m, n##2) HUNDRED(m, n##3) HUNDRED(m, n##4) \
    HUNDRED(m, n##5) HUNDRED(m, n##6) HUNDRED(m, n##7) HUNDRED(m, n##8) HUNDRED(m, n##9)
#define ALL(m) THOUSAND(m, 1) THOUSAND(m, 2) THOUSAND(m, 3)

ALL(ONE)

static uint64_t (*const functions[])(uint64_t) = {ALL(NAME)};

static uint64_t piece(uint64_t x)
{
    uint64_t random = 12345;
    for (int i = 0; i < CALLS; i++) {
        random = random * 6364136223846793005u + 1;
        x += functions[(random >> 40) % (sizeof functions / sizeof *functions)](x);
    }
    return x;
}

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static void nothing(int signal) { (void)signal; }

static void sample_ourselves(void)
{
    struct perf_event_attr event;
    struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_ONSTACK};
    sigfillset(&action.sa_mask);
    sigaction(SIGTRAP, &action, NULL);
    memset(&event, 0, sizeof event);
    event.type = PERF_TYPE_SOFTWARE;
    event.size = sizeof event;
    event.config = PERF_COUNT_SW_CPU_CLOCK;
    event.sample_period = PERIOD_NS;
    event.exclude_kernel = event.exclude_hv = event.remove_on_exec = event.sigtrap = 1;
    if (syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) < 0) {
        perror("perf_event_open");
        exit(1);
    }
}

static int by_size(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* The mean without the tenth at either end. */
static double mean(double *times, int count)
{
    double sum = 0;
    qsort(times, count, sizeof *times, by_size);
    for (int i = count / 10; i < count - count / 10; i++)
        sum += times[i];
    return sum / (count - 2 * (count / 10));
}

/* Whether two moments of the coarse clock are the same. */
static int is_same(struct timespec one, struct timespec other)
{
    return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

/* Pieces of one kind, and the pieces right behind such. */
struct kind {
    double *times, *behind;
    int found, found_behind;
};

/* What a piece takes with the one behind it. */
static double both(const struct kind *kind)
{
    return mean(kind->times, kind->found) + mean(kind->behind, kind->found_behind);
}

int main(int count, char **words)
{
    enum { QUIET, STOPPED, KINDS, FEWEST = 10 };
    static char stack[1 << 16];
    stack_t signals = {.ss_sp = stack, .ss_size = sizeof stack};
    volatile uint64_t *marks = (uint64_t *)(stack + sizeof stack) - 2 * MARKS;
    int pieces = count > 1 ? atoi(words[1]) : 0, all = 0, at_ticks = 0;
    struct kind kinds[2][KINDS] = {0}, *before = NULL;
    uint64_t x = 1;
    double sum = 0;
    if (pieces <= FIRST) {
        fprintf(stderr, "usage: stops PIECES [own], with more than %d pieces\n", FIRST);
        return 2;
    }
    for (int i = 0; i < 2 * KINDS; i++) {
        kinds[i / KINDS][i % KINDS].times = malloc(pieces * sizeof(double));
        kinds[i / KINDS][i % KINDS].behind = malloc(pieces * sizeof(double));
    }
    for (int i = 0; i < WORDS; i++)
        data[i] = i * 2654435761u;
    sigaltstack(&signals, NULL);
    if (count > 2)
        sample_ourselves();
    for (int i = 0; i < pieces; i++) {
        struct timespec coarse, later;
        int stopped = QUIET;
        for (int j = 0; j < MARKS; j++)
            marks[j] = 0x5555;
        clock_gettime(CLOCK_MONOTONIC_COARSE, &coarse);
        double start = now_us();
        x = piece(x);
        double took = now_us() - start;
        clock_gettime(CLOCK_MONOTONIC_COARSE, &later);
        for (int j = 0; j < MARKS; j++)
            if (marks[j] != 0x5555)
                stopped = STOPPED;
        struct kind *kind = &kinds[!is_same(coarse, later)][stopped];
        if (i < FIRST)
            continue;
        /* What follows a stop or a tick tells of that one. */
        if (before && before != &kinds[0][QUIET] && kind == &kinds[0][QUIET]) {
            before->behind[before->found_behind++] = took;
        } else {
            kind->times[kind->found++] = took;
            if (kind == &kinds[0][QUIET])
                kind->behind[kind->found_behind++] = took;
        }
        before = kind;
    }
    for (int ticked = 0; ticked < 2; ticked++) {
        const struct kind *quiet = &kinds[ticked][QUIET], *stopped = &kinds[ticked][STOPPED];
        /* Too few tell nothing, and weigh little. */
        if (stopped->found < FEWEST || stopped->found_behind < FEWEST || quiet->found_behind < FEWEST)
            continue;
        sum += stopped->found * (both(stopped) - both(quiet));
        all += stopped->found;
        at_ticks += ticked ? stopped->found : 0;
    }
    if (!all || kinds[1][QUIET].found_behind < FEWEST) {
        fprintf(stderr, "too few signals, or too few ticks without one\n");
        return 1;
    }
    printf("%d %d %.2f %.2f\n", all, at_ticks, sum / all, both(&kinds[1][QUIET]) - both(&kinds[0][QUIET]));
    return x == 0;
}
