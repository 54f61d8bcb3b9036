/* Forks processes while it is traced, then makes threads that take the places in the tracer's memory that theirs would,
   by their numbers modulo 1024. Ends with 0 if each process got the trap that it raised. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KIDS = 40, THREADS = 60, PLACES = 1024 };

static volatile sig_atomic_t got;
static volatile int over;

static void note(int signal)
{
    got = signal;
}

static void *work(void *unused)
{
    for (volatile unsigned long round = 0; !over; round++)
        ;
    return unused;
}

int main(void)
{
    int gate[2];
    pid_t kids[KIDS], before;
    pthread_t threads[THREADS];
    int wrong = 0, status;
    signal(SIGTRAP, note);
    getchar();
    if (pipe(gate)) return 2;
    for (int i = 0; i < KIDS; i++) {
        char byte;
        if (!(kids[i] = fork())) {
            close(gate[1]);
            if (read(gate[0], &byte, 1) < 0) _exit(8);
            raise(SIGTRAP);
            _exit(got ? 0 : 9);
        }
    }
    do {
        if (!(before = fork())) _exit(0);
        waitpid(before, &status, 0);
    } while ((before + 1 - kids[0]) % PLACES);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL)) return 3;
    /* Each is picked up when it has used some ten milliseconds. */
    for (struct timespec used = {0, 0}; used.tv_sec < 3;) {
        usleep(10000);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    }
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < KIDS; i++) {
        waitpid(kids[i], &status, 0);
        if (status) printf("process %d: status %#x\n", i, status), wrong = 1;
    }
    over = 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return wrong;
}
