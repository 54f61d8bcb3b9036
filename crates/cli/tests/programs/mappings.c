// Takes as many mappings as it may have, and executes much code that it did not before: "done". Where it may have very
// many it ends with 77. With an argument it says "ready" and waits for a line first.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// Two blocks each.
#define MUCH_CODE(count) \
    __asm__ volatile(".rept " #count "\n test %%eax, %%eax\n jz 1f\n nop\n 1:\n .endr" ::: "cc", "memory")

// Beside each other only those are one whose pages may be used in the same way.
static void *map(long number) {
    return mmap(0, 4096, number % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int compare(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv) {
    (void)argv;
    long most = 0;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    if (!file || fscanf(file, "%ld", &most) != 1 || most > 200000)
        return 77;
    fclose(file);
    for (long number = 0; number <= most && map(number) != MAP_FAILED; number++)
        ;
    if (argc > 1) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    MUCH_CODE(60000);
    int numbers[] = {3, 1, 2}, status = 1;
    qsort(numbers, 3, sizeof *numbers, compare);
    pid_t child = fork();
    if (!child) {
        MUCH_CODE(20000);
        _exit(numbers[0] == 1 ? 5 : 6);
    }
    waitpid(child, &status, 0);
    printf("done %d %d %.3f\n", numbers[2], WEXITSTATUS(status), strtod("1.5", 0));
    return 0;
}
