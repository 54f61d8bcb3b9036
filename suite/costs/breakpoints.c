/* What hardware breakpoints cost among threads: each of so many threads (1) sets one breakpoint so many times (2), at
 * two places in turn, and comes there, where a signal tells it. Prints the CPU time of setting one and of coming there,
 * in microseconds, without what it takes to read the clock.
 * build: -pthread */
#define _GNU_SOURCE
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long times;
static pthread_barrier_t all;
static __thread volatile long hits;

__attribute__((noinline)) static void one(void) { __asm__ volatile("nop"); }
__attribute__((noinline)) static void other(void) { __asm__ volatile("nop; nop"); }

static void count(int signal)
{
    (void)signal;
    hits++;
}

static double cpu_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

struct cost {
    double setting, reaching;
};

static void *work(void *cost)
{
    struct perf_event_attr event;
    void (*const places[])(void) = {one, other};
    struct cost *found = cost;
    memset(&event, 0, sizeof event);
    event.type = PERF_TYPE_BREAKPOINT;
    event.size = sizeof event;
    event.bp_type = HW_BREAKPOINT_X;
    event.bp_addr = (uintptr_t)other;
    event.bp_len = sizeof(long);
    event.sample_period = 1;
    event.exclude_kernel = event.exclude_hv = event.remove_on_exec = event.sigtrap = 1;
    int opened = syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (opened < 0) {
        perror("perf_event_open");
        exit(1);
    }
    pthread_barrier_wait(&all);
    double clock = 0;
    for (long time = 0; time < times; time++) clock -= cpu_us() - cpu_us();
    found->reaching -= clock;
    found->setting -= clock;
    for (long time = 0; time < times; time++) {
        event.bp_addr = (uintptr_t)places[time % 2];
        double before = cpu_us();
        if (ioctl(opened, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &event)) {
            perror("PERF_EVENT_IOC_MODIFY_ATTRIBUTES");
            exit(1);
        }
        double set = cpu_us();
        places[time % 2]();
        found->reaching += cpu_us() - set;
        found->setting += set - before;
    }
    if (hits != times) {
        fprintf(stderr, "%ld of %ld breakpoints were reached\n", hits, times);
        exit(1);
    }
    close(opened);
    return 0;
}

int main(int count_of_words, char **words)
{
    if (count_of_words < 3) return 2;
    long threads = atol(words[1]);
    times = atol(words[2]);
    struct sigaction action = {.sa_handler = count};
    struct cost *costs = calloc(threads, sizeof *costs), sum = {0, 0};
    pthread_t *ids = calloc(threads, sizeof *ids);
    sigaction(SIGTRAP, &action, 0);
    pthread_barrier_init(&all, 0, threads);
    for (long thread = 0; thread < threads; thread++)
        if (pthread_create(&ids[thread], 0, work, &costs[thread])) return 1;
    for (long thread = 0; thread < threads; thread++) {
        pthread_join(ids[thread], 0);
        sum.setting += costs[thread].setting;
        sum.reaching += costs[thread].reaching;
    }
    printf("%.3f %.3f\n", sum.setting / threads / times, sum.reaching / threads / times);
    return 0;
}
