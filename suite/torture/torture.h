/* What every torture program uses: a check that names itself when it fails, and a last word. Output
 * goes straight to the descriptor, so that forks and sudden ends neither repeat nor lose it. */
#ifndef TORTURE_H
#define TORTURE_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void say(int fd, const char *text)
{
    if (write(fd, text, strlen(text)) < 0) _exit(99);
}

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            char line_[300];                                                          \
            snprintf(line_, sizeof line_, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
            say(2, line_);                                                            \
            _exit(98);                                                                \
        }                                                                             \
    } while (0)

/* The last line of a program that passed; the only one of most. */
static inline int passed(void)
{
    say(1, "passed\n");
    return 0;
}

/* For what this machine or user cannot do at all. */
__attribute__((unused)) static int skipped(const char *why)
{
    say(1, "skipped: ");
    say(1, why);
    say(1, "\n");
    return 0;
}

/* Waits for a child and gives its exit status, or 1000 + the signal that ended it. */
__attribute__((unused)) static int ended(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0) CHECK(errno == EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Work whose result no compiler can foresee and no interruption may change. */
static inline uint64_t churn(uint64_t seed, long rounds)
{
    for (long i = 0; i < rounds; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        if (seed & 64) seed += i;
    }
    return seed;
}
#endif
