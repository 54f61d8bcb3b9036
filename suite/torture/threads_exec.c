/* A thread that is not the first executes a program: the others die, the process id stays.
 * build: -pthread */
#include "torture.h"
#include <pthread.h>

static char id[24];
static char *program;

static void *executes(void *unused)
{
    (void)unused;
    execl(program, program, id, (char *)0);
    CHECK(!"exec");
    return 0;
}
static void *spins(void *unused) { (void)unused; for (volatile uint64_t v = 1;;) v = churn(v, 1000); return unused; }

int main(int argc, char **argv)
{
    if (argc > 1) {
        CHECK(atoi(argv[1]) == getpid());
        return passed();
    }
    pthread_t thread;
    program = "/proc/self/exe";
    snprintf(id, sizeof id, "%d", getpid());
    CHECK(!pthread_create(&thread, 0, spins, 0));
    CHECK(!pthread_create(&thread, 0, executes, 0));
    pthread_join(thread, 0);
    return argv[0] == 0;
}
