// Threads, handlers that do not return, a blocked SIGTRAP, a child: what tracing must not change.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int larger(unsigned a, unsigned b) { return a > b; }

static int (*volatile compare)(unsigned, unsigned) = larger;

// A sort that a handler may leave at any moment, as the library's may not be: that one allocates.
static void sort(unsigned *numbers, int count) {
    for (int gap = count / 2; gap > 0; gap /= 2)
        for (int i = gap; i < count; i++)
            for (int j = i; j >= gap && compare(numbers[j - gap], numbers[j]); j -= gap) {
                unsigned number = numbers[j];
                numbers[j] = numbers[j - gap];
                numbers[j - gap] = number;
            }
}

// Sorts pseudo-random numbers, over and over: calls by pointer, returns, branches nobody can predict.
static unsigned work(unsigned seed, int rounds) {
    static __thread unsigned numbers[512];
    unsigned sum = 0;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 512; i++) numbers[i] = seed = seed * 1664525 + 1013904223;
        sort(numbers, 512);
        sum = sum * 31 + numbers[round % 512];
    }
    return sum;
}

static void *thread(void *seed) {
    // A part of it with the tracer's signal blocked.
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    unsigned sum = work((unsigned)(size_t)seed, 1000);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sum += work(sum, 50);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return (void *)(size_t)(sum + work(sum, 1000));
}

static sigjmp_buf back;
static volatile sig_atomic_t ticks;

static void tick(int signal) {
    (void)signal;
    // The handler runs code that is traced outside as well.
    unsigned few[2] = {2, 1};
    sort(few, 2);
    if (++ticks % 2) siglongjmp(back, 1);
}

int main(int count, char **arguments) {
    if (count > 1) {
        work(1, 300);
        raise(SIGTRAP);
        return 3;
    }
    pthread_t threads[4];
    unsigned sum = 0;
    for (size_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, thread, (void *)(i + 1));
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (unsigned)(size_t)result;
    }
    printf("threads %u\n", sum);
    struct sigaction action = {.sa_handler = tick};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    while (ticks < 60) {
        sigsetjmp(back, 1);
        while (ticks < 60) work(7, 1);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("descriptor %d\n", dup(1));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit((int)(work(5, 200) & 63));
    int status;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    return 42;
}
