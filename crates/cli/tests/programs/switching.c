// Switches branch tracing of itself on and off (crates/control), and looks whether it is disturbed, in one of several ways.
#define _GNU_SOURCE
#include "timewise_branches.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 5

static void check(int is_so, const char *what, int line) {
    if (is_so) return;
    dprintf(STDERR_FILENO, "line %d: not so: %s (errno %d)\n", line, what, errno);
    _exit(1);
}
#define CHECK(what) check(what, #what, __LINE__)

static int begin(const char *path) {
    return timewise_branches_start(path, 2000, 16);
}

static double used(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

// Long enough for hundreds of traces.
static void work(void) {
    for (double end = used() + 0.2; used() < end;)
        for (volatile int i = 0; i < 1000000; i++) {}
}

static void traced(void) {
    CHECK(begin("own.tw") == 0);
    work();
    CHECK(timewise_branches_stop() == 0);
}

static void has_no_child(void) {
    CHECK(wait(NULL) == -1 && errno == ECHILD);
}

static void waits(void) {
    CHECK(begin("own.tw") == 0);
    has_no_child();
    work();
    CHECK(timewise_branches_stop() == 0);
    has_no_child();
}

static void ignores(void) {
    signal(SIGCHLD, SIG_IGN);
    traced();
}

static volatile int handled, over, reaped, others;

static void handle(int signal) {
    (void)signal;
    handled++;
}

static void handles(void) {
    signal(SIGCHLD, handle);
    traced();
    CHECK(handled == 0);
}

static void *reap(void *any) {
    while (!over) {
        if (waitpid(-1, NULL, WNOHANG) > 0) reaped++;
        if (any && waitpid(-1, NULL, WNOHANG | __WALL) > 0) others++;
    }
    return NULL;
}

static void reaps(void) {
    for (int any = 0; any < 2; any++) {
        pthread_t reaper;
        over = 0;
        pthread_create(&reaper, NULL, reap, any ? &reaper : NULL);
        for (int i = 0; i < ROUNDS; i++) traced();
        over = 1;
        pthread_join(reaper, NULL);
    }
    CHECK(reaped == 0);
}

static void adopts(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    traced();
    has_no_child();
}

static void succeeded(pid_t child) {
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void forks(void) {
    CHECK(begin("own.tw") == 0);
    pid_t child = fork();
    if (!child) {
        CHECK(timewise_branches_stop() == ESRCH);
        CHECK(timewise_branches_stop() == ESRCH);
        _exit(0);
    }
    succeeded(child);
    CHECK(begin("other.tw") == EALREADY);
    child = fork();
    if (!child) {
        CHECK(begin("child.tw") == 0);
        work();
        CHECK(timewise_branches_stop() == 0);
        _exit(0);
    }
    succeeded(child);
    work();
    CHECK(timewise_branches_stop() == 0);
    CHECK(timewise_branches_stop() == ESRCH);
}

static void *switch_all_the_time(void *none) {
    while (!over) traced();
    return none;
}

// A fork finds the other thread at any moment.
static void forks_meanwhile(void) {
    pthread_t other;
    pthread_create(&other, NULL, switch_all_the_time, NULL);
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (!child) {
            alarm(30);
            CHECK(timewise_branches_stop() == ESRCH);
            _exit(0);
        }
        succeeded(child);
        usleep(10000);
    }
    over = 1;
    pthread_join(other, NULL);
}

static void begins_with_dash(void) {
    CHECK(begin("-dash.tw") == 0);
    work();
    CHECK(timewise_branches_stop() == 0);
    CHECK(access("-dash.tw", R_OK) == 0);
}

static void refused(void) {
    const struct { const char *command; int error_number; } all[] = {
        {"./none", ENOENT}, {".", ENOENT}, {"./data", ENOENT}, {"./senseless", ENOEXEC}, {"/bin/false", EPERM}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        setenv("TIMEWISE", all[i].command, 1);
        CHECK(begin("own.tw") == all[i].error_number);
        CHECK(timewise_branches_stop() == ESRCH);
        has_no_child();
    }
    CHECK(timewise_branches_start(NULL, 0, 0) == EFAULT);
}

// What traces us: "timewise", which was started, or "tw-keeper", which does the work.
static pid_t tracer(const char *process) {
    char wanted[32], name[300], line[4096];
    size_t length = snprintf(wanted, sizeof wanted, "--pid=%d", getpid()) + 1;
    pid_t found = 0;
    DIR *all = opendir("/proc");
    for (struct dirent *one; (one = readdir(all));) {
        snprintf(name, sizeof name, "/proc/%s/cmdline", one->d_name);
        int file = open(name, O_RDONLY);
        if (file < 0) continue;
        ssize_t bytes = read(file, line, sizeof line);
        close(file);
        if (bytes <= 0 || !memmem(line, bytes, wanted, length)) continue;
        snprintf(name, sizeof name, "/proc/%s/comm", one->d_name);
        file = open(name, O_RDONLY);
        bytes = read(file, line, sizeof line);
        close(file);
        if (bytes > 0 && !strncmp(line, process, strlen(process))) found = atoi(one->d_name);
    }
    closedir(all);
    return found;
}

static void keeps_errno_and_mask(void) {
    // The system fills the bits that there are.
    sigset_t before = {0}, after = {0};
    sigaddset(&before, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    errno = 4242;
    CHECK(begin("own.tw") == 0 && errno == 4242);
    CHECK(tracer("timewise") != 0);
    work();
    errno = 4242;
    CHECK(timewise_branches_stop() == 0 && errno == 4242);
    CHECK(tracer("timewise") == 0 && tracer("tw-keeper") == 0);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    CHECK(memcmp(&before, &after, sizeof before) == 0);
}

// The tracer may not get what this thread needs.
static void *bound(void *none) {
    cpu_set_t one, all, its;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int i = 0; !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    sched_setaffinity(0, sizeof one, &one);
    struct sched_param priority = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO, &priority);
    CHECK(begin("own.tw") == 0);
    priority.sched_priority = 0;
    sched_setscheduler(0, SCHED_OTHER, &priority);
    pid_t by = tracer("tw-keeper");
    CHECK(by != 0 && sched_getscheduler(by) == SCHED_OTHER);
    CHECK(sched_getaffinity(by, sizeof its, &its) == 0 && CPU_EQUAL(&its, &all));
    CHECK(getsid(by) != getsid(0));
    work();
    CHECK(timewise_branches_stop() == 0);
    return none;
}

static void is_bound(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, bound, NULL);
    pthread_join(thread, NULL);
}

static void *cancelled(void *none) {
    pthread_cancel(pthread_self());
    traced();
    handled++;
    pthread_testcancel();
    return none;
}

static void is_cancelled(void) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, cancelled, NULL);
    pthread_join(thread, &result);
    CHECK(result == PTHREAD_CANCELED && handled == 1);
    traced();
}

static pid_t own;
static int *elsewhere;

static void note(int signal) {
    (void)signal;
    if (getpid() != own) *elsewhere = 1;
}

static void *signal_all_the_time(void *none) {
    while (!over) {
        kill(0, SIGUSR1);
        usleep(20);
    }
    return none;
}

// Handlers are the program's own business.
static void is_signalled(void) {
    pthread_t other;
    setpgid(0, 0);
    own = getpid();
    elsewhere = mmap(NULL, sizeof *elsewhere, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&other, NULL, signal_all_the_time, NULL);
    for (int i = 0; i < ROUNDS; i++) traced();
    over = 1;
    pthread_join(other, NULL);
    CHECK(*elsewhere == 0);
}

static void closes_standard_descriptors(void) {
    for (int i = 0; i < 3; i++) close(i);
    traced();
    for (int i = 0; i < 3; i++) CHECK(fcntl(i, F_GETFD) == -1);
}

// Its own descriptors are numbered as they would be.
static void opens(void) {
    int next = dup(0);
    close(next);
    CHECK(begin("own.tw") == 0);
    CHECK(dup(0) == next);
    work();
    CHECK(timewise_branches_stop() == 0);
    CHECK(dup(0) == next + 1);
}

static void exits(void) {
    CHECK(begin("own.tw") == 0);
    printf("%d\n", tracer("tw-keeper"));
}

static void kills(void) {
    CHECK(begin("own.tw") == 0);
    work();
    CHECK(kill(tracer("timewise"), SIGKILL) == 0);
    CHECK(timewise_branches_stop() == 0);
    has_no_child();
    traced();
}

int main(int count, char **arguments) {
    const struct { const char *name; void (*run)(void); } all[] = {
        {"waits", waits}, {"ignores", ignores}, {"handles", handles}, {"reaps", reaps}, {"adopts", adopts},
        {"forks", forks}, {"forks-meanwhile", forks_meanwhile}, {"begins-with-dash", begins_with_dash},
        {"refused", refused}, {"keeps-errno-and-mask", keeps_errno_and_mask}, {"is-bound", is_bound},
        {"is-cancelled", is_cancelled}, {"is-signalled", is_signalled},
        {"closes-standard-descriptors", closes_standard_descriptors}, {"opens", opens}, {"exits", exits}, {"kills", kills}};
    // One that hangs has failed.
    alarm(120);
    int can = begin("first.tw");
    if (can == EPERM) return 77;
    CHECK(can == 0);
    timewise_branches_stop();
    for (size_t i = 0; count > 1 && i < sizeof all / sizeof *all; i++)
        if (!strcmp(arguments[1], all[i].name)) {
            all[i].run();
            return 0;
        }
    return 2;
}
