/* A process tree: forks children in pairs; each computes and writes its result
 * through a pipe; every fourth re-executes this binary (fork+exec), and every
 * fifth forks a grandchild.  args: children   (internal: "child" K) */
#include "kernel.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static uint64_t work(uint64_t s) { for (int i = 0; i < 150000; i++) s = mix(s, i); return s; }
static void put(int fd, uint64_t v) { if (write(fd, &v, 8) != 8) _exit(1); }
int main(int argc, char **argv)
{
    if (argc > 3 && !strcmp(argv[1], "child")) { put(atoi(argv[3]), work(atol(argv[2]))); return 0; }
    long n = arg(argc, argv, 1, 200);
    uint64_t sum = 0;
    for (long k = 0; k < n; k += 2) {
        int p[2];
        if (pipe(p)) { perror("pipe"); return 1; }
        for (long c = k; c < k + 2; c++) {
            pid_t pid = fork();
            if (pid < 0) { perror("fork"); return 1; }
            if (pid) continue;
            close(p[0]);
            if (c % 4 == 0) {
                char a[24], b[24]; snprintf(a, 24, "%ld", c); snprintf(b, 24, "%d", p[1]);
                execl("/proc/self/exe", argv[0], "child", a, b, (char *)0); _exit(1);
            }
            if (c % 5 == 0) { pid_t g = fork(); if (!g) { put(p[1], work(c + 1000000)); _exit(0); } waitpid(g, 0, 0); }
            put(p[1], work(c));
            _exit(0);
        }
        close(p[1]);
        uint64_t v; ssize_t got;
        while ((got = read(p[0], &v, 8)) == 8) sum += v;      /* order-free sum */
        close(p[0]);
        while (wait(0) > 0) { }
    }
    printf("forks %016lx\n", (unsigned long)sum);
    return 0;
}
