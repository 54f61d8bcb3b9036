/* Maps a page at each address that it is given, or what "start-end" says, and works until a SIGTERM, or with "forks" lets a
 * child do so for a moment: the pages must keep what is in them. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long *pages[16];
static int count;
static volatile sig_atomic_t ended;

static void end(int signal) { (void)signal, ended = 1; }

static int is_whole(void)
{
    int whole = 1;
    for (int i = 0; i < count; i++)
        whole &= *pages[i] == (unsigned long)pages[i];
    return whole;
}

int main(int arguments, char **argument)
{
    int forks = arguments > 1 && !strcmp(argument[1], "forks");
    for (int i = 1 + forks; i < arguments && count < 16; i++) {
        char *behind;
        void *at = (void *)strtoul(argument[i], &behind, 16);
        size_t size = *behind ? strtoul(behind + 1, 0, 16) - (size_t)at : 4096;
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
        unsigned long *page = mmap(at, size, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (page != at) return perror("mmap"), 2;
        *page = (unsigned long)page;
        pages[count++] = page;
    }
    signal(SIGTERM, end);
    puts("ready");
    fflush(stdout);
    if (forks && fork()) {
        int status;
        return wait(&status) < 0 || status || !is_whole();
    }
    for (unsigned long i = 0; !ended && !(forks && i == 20000000); i++)
        if (!is_whole()) return 3;
    return !is_whole();
}
