/* A handler on its own stack: it must run there; a stack overflow must reach it; it leaves by siglongjmp. */
#include "torture.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>

static char *alternative;
static sigjmp_buf again;
static volatile int seen;

static void handler(int signal, siginfo_t *info, void *context)
{
    char here;
    (void)context;
    CHECK(signal == SIGSEGV && info->si_addr);
    CHECK(&here >= alternative && &here < alternative + 65536);
    stack_t now;
    CHECK(!sigaltstack(0, &now) && now.ss_flags == SS_ONSTACK);
    seen++;
    siglongjmp(again, 1);
}

__attribute__((noinline)) static int deeper(int depth)
{
    volatile char frame[512];
    frame[depth & 511] = 1;
    return (depth < 1 << 30 ? deeper(depth + 1) : 0) + frame[(depth + 1) & 511];
}

int main(void)
{
    struct rlimit limit = {1 << 20, 1 << 20};
    CHECK(!setrlimit(RLIMIT_STACK, &limit));
    alternative = malloc(65536);
    stack_t stack = {.ss_sp = alternative, .ss_size = 65536};
    CHECK(!sigaltstack(&stack, 0));
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    CHECK(!sigaction(SIGSEGV, &action, 0));
    for (volatile int i = 0; i < 20; i++) {
        if (!sigsetjmp(again, 1)) CHECK(deeper(0) == -1);
        CHECK(seen == i + 1);
    }
    stack_t now;
    CHECK(!sigaltstack(0, &now) && now.ss_sp == alternative && now.ss_flags == 0);
    return passed();
}
