/* What is in force while a handler runs: the mask, also after waits with a mask of their own; the alternative stack
 * with SS_AUTODISARM, its answers and refusals; flags of actions, reported as they were asked for. */
#include "torture.h"
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <ucontext.h>
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

/* `raise` is declared as one that calls nothing back, so what handlers write must be volatile. */
static volatile uint64_t inside, saved;
static volatile sig_atomic_t runs;
static volatile stack_t stack_inside, stack_saved;
static volatile int refused;

static uint64_t now(void)
{
    uint64_t mask = 0;
    CHECK(!syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, 8));
    return mask;
}
#define BIT(signal) (1ull << ((signal) - 1))

static void look(int signal, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    (void)signal, (void)info;
    inside = now();
    saved = *(uint64_t *)&c->uc_sigmask;
    stack_saved = c->uc_stack;
    stack_t mine;
    CHECK(!sigaltstack(0, &mine));
    stack_inside = mine;
    stack_t other = {.ss_sp = malloc(65536), .ss_size = 65536};
    refused = sigaltstack(&other, 0) ? errno : 0;
    if (!refused) CHECK(!sigaltstack(&mine, 0));
    free(other.ss_sp);
    runs++;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO}, old;
    sigset_t none, some;
    sigemptyset(&none);
    sigemptyset(&some);
    sigaddset(&action.sa_mask, SIGHUP);
    CHECK(!sigaction(SIGUSR1, &action, 0));
    uint64_t base = BIT(SIGUSR1) | BIT(SIGWINCH), waiting = BIT(SIGURG), in = BIT(SIGURG) | BIT(SIGHUP) | BIT(SIGUSR1);
    sigset_t wait_mask;
    sigemptyset(&wait_mask);
    memcpy(&wait_mask, &waiting, 8);
    int epoll = epoll_create1(0);
    struct epoll_event event;
    for (int way = 0; way < 4; way++) {
        CHECK(!syscall(SYS_rt_sigprocmask, SIG_SETMASK, &base, 0, 8) && !raise(SIGUSR1));
        int before = runs, result = 0;
        switch (way) {
        case 0: result = sigsuspend(&wait_mask); break;
        case 1: result = ppoll(0, 0, 0, &wait_mask); break;
        case 2: result = pselect(0, 0, 0, 0, 0, &wait_mask); break;
        case 3: result = epoll_pwait(epoll, &event, 1, -1, &wait_mask); break;
        }
        CHECK(result == -1 && errno == EINTR && runs == before + 1);
        CHECK(inside == in && saved == base && now() == base);
    }
    CHECK(!sigprocmask(SIG_SETMASK, &none, 0) && !raise(SIGUSR1));
    CHECK(inside == (BIT(SIGHUP) | BIT(SIGUSR1)) && saved == 0);

    static char room[65536];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room}, was;
    CHECK(!sigaltstack(0, &was) && was.ss_flags == SS_DISABLE);
    CHECK(!sigaltstack(&stack, 0));
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    CHECK(!sigaction(SIGUSR1, &action, 0) && !raise(SIGUSR1));
    CHECK(stack_inside.ss_flags == SS_ONSTACK && stack_inside.ss_sp == room && refused == EPERM);
    CHECK(stack_saved.ss_sp == room && stack_saved.ss_flags == 0 && inside == BIT(SIGHUP));
    stack.ss_flags = SS_AUTODISARM;
    CHECK(!sigaltstack(&stack, &was) && was.ss_flags == 0 && was.ss_size == sizeof room);
    CHECK(!raise(SIGUSR1) && stack_inside.ss_flags == SS_DISABLE && refused == 0);
    CHECK(!sigaltstack(0, &was) && was.ss_sp == room && was.ss_flags == (int)SS_AUTODISARM);
    stack = (stack_t){.ss_sp = room, .ss_size = 1000};
    CHECK(sigaltstack(&stack, 0) == -1 && errno == ENOMEM);
    stack.ss_flags = 77;
    CHECK(sigaltstack(&stack, 0) == -1 && errno == EINVAL);
    CHECK(sigaltstack((stack_t *)8, 0) == -1 && errno == EFAULT);

    CHECK(!sigaction(SIGUSR1, 0, &old) && old.sa_sigaction == look && (old.sa_flags & ~0x4000000) == action.sa_flags);
    CHECK(sigismember(&old.sa_mask, SIGHUP) && !sigismember(&old.sa_mask, SIGUSR1));
    CHECK(sigaction(SIGKILL, &action, 0) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_rt_sigaction, SIGUSR1, 8, 0, 8) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_rt_sigaction, SIGUSR1, 0, 0, 16) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_rt_sigaction, 65, 0, &old, 8) == -1 && errno == EINVAL);
    return passed();
}
