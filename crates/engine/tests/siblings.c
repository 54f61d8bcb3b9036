/* Forks as many children as its argument says, one after the other. All do the same, which their parent never does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int by_text(const void *one, const void *other)
{
    return strcmp(one, other);
}

static int same_work(void)
{
    char words[32][24];
    double sum = 0;
    for (int i = 0; i < 32; i++) {
        snprintf(words[i], sizeof words[i], "%d %s %5.2f", i * 7919 % 32, i % 3 ? "word" : "", i / 3.0);
        sum += strtod(strrchr(words[i], ' '), NULL);
    }
    qsort(words, 32, sizeof words[0], by_text);
    return (int)sum + words[0][0];
}

int main(int count, char **arguments)
{
    for (int i = atoi(arguments[count - 1]); i > 0; i--) {
        int status;
        pid_t pid = fork();
        if (!pid) _exit(same_work() & 127);
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return 1;
    }
    return 0;
}
