/* Threads in all kinds of states at once, each of which checks that it sees nothing that it would not see natively:
 * at work under a lock, blocked in system calls that end in their time or never, waiting with a mask of its own,
 * on a stack for handlers, beginning and ending, and making processes by fork and by posix_spawn.
 * Runs for so many seconds (1) or until SIGTERM, with "quiet" without processes of its own; then it says how many rounds
 * of each it made to standard error.
 * build: -pthread
 * case: 1 exit 0 */
#include "torture.h"
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WRONG(...) (fprintf(stderr, "wrong: " __VA_ARGS__), fputc('\n', stderr), wrong++)
#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define WORKERS 4

static _Atomic int wrong, over;
static _Atomic uint64_t rounds[16], hangups;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t guarded, expected[WORKERS];
static int quiet[2], there[2], back[2];
static pthread_t waiting;

static void *work(void *number)
{
    long me = (long)number;
    double x = me + 1.5;
    while (!over) {
        pthread_mutex_lock(&lock);
        guarded++;
        pthread_mutex_unlock(&lock);
        expected[me]++;
        for (int i = 0; i < 50; i++) x = x * 1.0000001 + 0.5;
        if (!(x > 0)) WRONG("floating point: %f", x);
        if (x > 1e12) x = 1.5;
        rounds[0]++;
    }
    return 0;
}

/* Nothing ever comes. */
static void *read_quiet(void *unused)
{
    char byte;
    ssize_t got = read(quiet[0], &byte, 1);
    WRONG("read gave %zd, error %d", got, errno);
    return unused;
}

static void *sleep_short(void *unused)
{
    while (!over) {
        struct timespec before, after, time = {0, 30000000};
        clock_gettime(CLOCK_MONOTONIC, &before);
        if (nanosleep(&time, 0)) WRONG("nanosleep: error %d", errno);
        clock_gettime(CLOCK_MONOTONIC, &after);
        double ms = (after.tv_sec - before.tv_sec) * 1e3 + (after.tv_nsec - before.tv_nsec) / 1e6;
        if (ms < 29.9) WRONG("slept %f of 30 ms", ms);
        rounds[1]++;
    }
    return unused;
}

static void *wait_for_events(void *unused)
{
    int events = epoll_create1(0);
    struct epoll_event event = {EPOLLIN, {0}}, found;
    epoll_ctl(events, EPOLL_CTL_ADD, quiet[0], &event);
    while (!over) {
        if (epoll_wait(events, &found, 1, 100) < 0) WRONG("epoll_wait: error %d", errno);
        rounds[2]++;
    }
    return unused;
}

static void *wait_by_poll(void *unused)
{
    while (!over) {
        struct pollfd polled = {quiet[0], POLLIN, 0};
        if (poll(&polled, 1, 70) < 0) WRONG("poll: error %d", errno);
        rounds[3]++;
    }
    return unused;
}

static void *wait_for_a_word(void *unused)
{
    static int word;
    while (!over) {
        struct timespec time = {0, 50000000};
        long result = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, 0, 0);
        if (result == 0 || errno != ETIMEDOUT) WRONG("futex gave %ld, error %d", result, errno);
        rounds[4]++;
    }
    return unused;
}

static void *end_at_once(void *value)
{
    return value;
}

static void *make_threads(void *unused)
{
    while (!over) {
        pthread_t thread;
        void *value = 0;
        if (pthread_create(&thread, 0, end_at_once, &lock)) WRONG("no thread could be made");
        else if (pthread_join(thread, &value) || value != &lock) WRONG("a thread gave %p", value);
        rounds[5]++;
        usleep(200);
    }
    return unused;
}

static void *answer(void *unused)
{
    char byte;
    while (read(there[0], &byte, 1) == 1)
        if (write(back[1], &byte, 1) != 1) WRONG("no answer");
    return unused;
}

static void *ask(void *unused)
{
    for (unsigned char question = 0; !over; question++) {
        unsigned char heard;
        if (write(there[1], &question, 1) != 1 || read(back[0], &heard, 1) != 1) WRONG("no question");
        else if (heard != question) WRONG("heard %d for %d", heard, question);
        rounds[6]++;
    }
    return unused;
}

static void on_alarm(int signal)
{
    char here;
    stack_t stack;
    sigset_t mask;
    (void)signal;
    if (sigaltstack(0, &stack)) WRONG("sigaltstack: error %d", errno);
    if (!(stack.ss_flags & SS_ONSTACK) || &here < (char *)stack.ss_sp || &here > (char *)stack.ss_sp + stack.ss_size)
        WRONG("a handler is not on its stack");
    pthread_sigmask(0, 0, &mask);
    if (!sigismember(&mask, SIGALRM) || !sigismember(&mask, SIGUSR2)) WRONG("a handler has another mask");
    for (volatile int i = 0; i < 2000; i++) {}
    rounds[7]++;
}

static void *be_alarmed(void *unused)
{
    sigset_t set;
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536}, now;
    sigaltstack(&stack, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    while (!over) {
        struct sigaction action;
        for (volatile int i = 0; i < 1000; i++) {}
        sigaltstack(0, &now);
        if (now.ss_sp != stack.ss_sp || now.ss_size != stack.ss_size || now.ss_flags) WRONG("another stack");
        sigaction(SIGALRM, 0, &action);
        if (action.sa_handler != on_alarm || !(action.sa_flags & SA_ONSTACK) || !sigismember(&action.sa_mask, SIGUSR2))
            WRONG("another handler");
        sigaction(SIGUSR1, 0, &action);
        if (action.sa_handler != SIG_IGN) WRONG("what was ignored is not");
        rounds[8]++;
    }
    return unused;
}

static void on_hangup(int signal)
{
    (void)signal;
    hangups++;
}

static void *wait_with_a_mask(void *unused)
{
    sigset_t mask;
    pthread_sigmask(0, 0, &mask);
    sigdelset(&mask, SIGHUP);
    while (!over) {
        uint64_t before = hangups;
        sigsuspend(&mask);
        if (hangups == before) WRONG("sigsuspend ended without a signal");
        rounds[9]++;
    }
    return unused;
}

static void *hang_up(void *unused)
{
    while (!over) {
        uint64_t before = hangups;
        pthread_kill(waiting, SIGHUP);
        int patience = 10000;
        while (hangups == before && --patience) usleep(1000);
        if (!patience) WRONG("a signal was lost");
        rounds[10]++;
        usleep(3000);
    }
    return unused;
}

static void *make_processes(void *unused)
{
    while (!over) {
        pid_t child = fork(), ended;
        if (child == 0) {
            volatile int sum = 0;
            for (int i = 0; i < 10000; i++) sum += i;
            _exit(sum == 49995000 ? 5 : 6);
        }
        int status;
        while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) WRONG("waitpid was interrupted");
        if (ended != child || !WIFEXITED(status) || WEXITSTATUS(status) != 5) WRONG("a child ended by %x", status);
        if (WEXITSTATUS(system("exit 3")) != 3) WRONG("a shell ended otherwise");
        rounds[11]++;
        usleep(20000);
    }
    return unused;
}

/* No thread is woken for that: all block it. */
static int is_to_end(void)
{
    sigset_t pending;
    return !sigpending(&pending) && sigismember(&pending, SIGTERM);
}

int main(int count, char **arguments)
{
    int tenths = count > 1 ? 10 * atoi(arguments[1]) : 10;
    pthread_t thread, maker;
    struct itimerval often = {{0, 3000}, {0, 3000}};
    struct sigaction alarm = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct sigaction hangup = {.sa_handler = on_hangup};
    sigset_t blocked;
    if (pipe(quiet) || pipe(there) || pipe(back)) return 1;
    signal(SIGUSR1, SIG_IGN);
    sigaddset(&alarm.sa_mask, SIGUSR2);
    sigaction(SIGALRM, &alarm, 0);
    sigaction(SIGHUP, &hangup, 0);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGALRM);
    sigaddset(&blocked, SIGHUP);
    sigaddset(&blocked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &blocked, 0);
    for (long number = 0; number < WORKERS; number++) pthread_create(&thread, 0, work, (void *)number);
    void *(*const all[])(void *) = {read_quiet, sleep_short, wait_for_events, wait_by_poll, wait_for_a_word,
                                    make_threads, answer, ask, be_alarmed, hang_up};
    pthread_create(&waiting, 0, wait_with_a_mask, 0);
    for (size_t i = 0; i < LENGTH(all); i++) pthread_create(&thread, 0, all[i], 0);
    if (count < 3) pthread_create(&maker, 0, make_processes, 0);
    setitimer(ITIMER_REAL, &often, 0);
    for (int i = 0; i < tenths && !is_to_end(); i++) {
        struct timespec tenth = {0, 100000000};
        if (nanosleep(&tenth, 0)) WRONG("the first thread was woken");
    }
    over = 1;
    /* No shell is left behind that nobody waits for. */
    if (count < 3) pthread_join(maker, 0);
    pthread_mutex_lock(&lock);
    uint64_t sum = 0;
    for (int i = 0; i < WORKERS; i++) sum += expected[i];
    if (sum > guarded || guarded - sum > WORKERS) WRONG("%lu rounds under the lock, and %lu", guarded, sum);
    for (size_t i = 0; count > 2 && i < LENGTH(rounds); i++) fprintf(stderr, "%lu ", (unsigned long)rounds[i]);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
