/* Every way to end: each must be seen from outside as it is natively.
 * case: return exit 41
 * case: exit exit 42
 * case: _exit exit 43
 * case: abort signal 6
 * case: null signal 11
 * case: divide signal 8
 * case: undefined signal 4
 * case: breakpoint signal 5
 * case: bus signal 7
 * case: kill signal 9
 * case: terminate signal 15
 * case: quit signal 3
 * case: pipe signal 13
 * case: alarm signal 14
 * case: realtime signal 40
 * case: handler exit 44
 * case: again signal 11
 * case: thread signal 6
 * build: -pthread */
#include "torture.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

static void exits(int signal) { (void)signal; _exit(44); }
static void resets(int number) { signal(number, SIG_DFL); }     /* and the fault happens again */
static void *aborts(void *unused) { abort(); return unused; }
static void last(void) { say(1, "at exit\n"); }

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    const char *how = argv[1];
    volatile int zero = 0;
    struct rlimit none = {0, 0};
    CHECK(!setrlimit(RLIMIT_CORE, &none));
    atexit(last);
    say(1, "begins\n");
#define IS(name) if (!strcmp(how, name))
    IS("return") return 41;
    IS("exit") exit(42);
    IS("_exit") _exit(43);
    IS("abort") abort();
    IS("null") *(volatile int *)8 = 1;
    IS("divide") return 7 / zero;
    IS("undefined") __asm__ volatile("ud2");
    IS("breakpoint") __asm__ volatile("int3");
    IS("bus") {
        FILE *empty = tmpfile();
        volatile char *page = mmap(0, 4096, PROT_READ, MAP_SHARED, fileno(empty), 0);
        return *page;
    }
    IS("kill") kill(getpid(), SIGKILL);
    IS("terminate") raise(SIGTERM);
    IS("quit") raise(SIGQUIT);
    IS("pipe") {
        int ends[2];
        CHECK(!pipe(ends) && !close(ends[0]));
        CHECK(write(ends[1], "x", 1) != 2);
    }
    IS("alarm") {
        alarm(1);
        for (volatile uint64_t v = 1;;) v = churn(v, 1000);
    }
    IS("realtime") raise(40);
    IS("handler") {
        signal(SIGSEGV, exits);
        *(volatile int *)8 = 1;
    }
    IS("again") {
        signal(SIGSEGV, resets);
        *(volatile int *)8 = 1;
    }
    IS("thread") {
        pthread_t thread;
        CHECK(!pthread_create(&thread, 0, aborts, 0));
        for (;;) pause();
    }
    return 45;
}
