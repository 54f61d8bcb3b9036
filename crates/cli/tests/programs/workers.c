/* A server and its workers: each works until it is traced, and for a second of CPU time from then on. One is there when
 * the first line is written, another comes once that has ended. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_WAIT_S = 240, WORKERS = 2 };

static int is_traced(void)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        found |= strstr(line, "memfd:timewise") != 0;
    if (maps)
        fclose(maps);
    return found;
}

static uint64_t work(uint64_t x)
{
    for (int i = 0; i < 1000000; i++)
        x = x & 1 ? x * 3 + i : x / 2;
    return x;
}

int main(void)
{
    uint64_t x = 1;
    for (int i = 0; i < WORKERS; i++) {
        pid_t worker = fork();
        if (!worker) {
            alarm(LONGEST_WAIT_S);
            while (!is_traced())
                x = work(x);
            for (clock_t begun = clock(); clock() - begun < CLOCKS_PER_SEC;)
                x = work(x);
            _exit(7);
        }
        puts("there");
        fflush(stdout);
        int status;
        if (waitpid(worker, &status, 0) != worker || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
            return 1;
    }
    puts("done");
    return 0;
}
