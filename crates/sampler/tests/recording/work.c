/* Work of known shape: work MODE MILLIONS. One million rounds take about 1.5 ms. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS(n) for (uint64_t i = 0; i < (n); i++) x = x * 6364136223846793005u + 1

static volatile uint64_t sink;

__attribute__((noinline)) static void heavy(uint64_t n) { uint64_t x = sink; ROUNDS(3 * n); sink = x; }
__attribute__((noinline)) static void light(uint64_t n) { uint64_t x = sink; ROUNDS(n); sink = x; }

/* Turns of both, so that a change of clock in the middle touches both alike. */
__attribute__((noinline)) static void split(uint64_t n) {
    for (int turn = 0; turn < 20; turn++) { heavy(n / 80); light(n / 80); sink++; }
}

__attribute__((noinline)) static void deep(int depth, uint64_t n) {
    if (depth) deep(depth - 1, n); else light(n);
    sink++;
}

static void *thread(void *n) { light(*(uint64_t *)n); return 0; }

static void jit(uint64_t n) {
    /* mov rcx,imm64; 1: dec rcx; jnz 1b; ret */
    unsigned char code[] = {0x48, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0xc3};
    memcpy(code + 2, &n, 8);
    void *memory = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(memory, code, sizeof code);
    ((void (*)(void))memory)();
}

/* Gives way to the others again and again. */
static void *yielding(void *n)
{
    for (uint64_t done = 0; done < *(uint64_t *)n; done += 1000000) {
        light(1000000);
        sched_yield();
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const char *mode = argv[1];
    uint64_t n = strtoull(argv[2], 0, 10) * 1000000;
    if (!strcmp(mode, "split")) split(n);
    if (!strcmp(mode, "deep")) deep(100, n);
    if (!strcmp(mode, "jit")) jit(n);
    if (!strcmp(mode, "die")) { light(n); raise(SIGSEGV); }
    if (!strcmp(mode, "sleep")) { light(n); usleep(300000); }
    if (!strcmp(mode, "threads")) {
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, thread, &n);
        for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    }
    if (!strcmp(mode, "yields")) {
        pthread_t threads[6];
        for (int i = 0; i < 6; i++) pthread_create(&threads[i], 0, yielding, &n);
        for (int i = 0; i < 6; i++) pthread_join(threads[i], 0);
    }
    if (!strcmp(mode, "forks")) {
        for (int i = 0; i < 3; i++)
            if (!fork()) {
                if (i == 2) execl("/proc/self/exe", "again", "split", argv[2], (char *)0);
                light(n);
                _exit(0);
            }
        while (wait(0) > 0) {}
    }
    if (!strcmp(mode, "brief"))
        for (uint64_t i = 0; i < n / 200000; i++) {
            if (!fork()) { split(200000); _exit(0); }
            wait(0);
        }
    return 0;
}
