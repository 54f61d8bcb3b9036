/* Writes code and says so: announced map|dump MILLIONS. The second function does thrice the first one's work. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* push rbp; mov rbp,rsp; 1: dec rdi; jnz 1b; pop rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};

static void record(FILE *dump, uint32_t id, const void *body, uint32_t size) {
    uint32_t head[4] = {id, 16 + size, 0, 0};
    fwrite(head, 1, sizeof head, dump);
    fwrite(body, 1, size, dump);
}

static void load(FILE *dump, char *at, const char *name) {
    char body[256] = {0};
    uint64_t words[5] = {getpid(), (uintptr_t)at, (uintptr_t)at, sizeof code, 1};
    memcpy(body, words, sizeof words);
    strcpy(body + sizeof words, name);
    memcpy(body + sizeof words + strlen(name) + 1, at, sizeof code);
    record(dump, 0, body, sizeof words + strlen(name) + 1 + sizeof code);
}

static void lines(FILE *dump, char *at, const char *file, uint32_t line) {
    char body[256] = {0};
    uint64_t words[4] = {(uintptr_t)at, 1, (uintptr_t)at, line};
    memcpy(body, words, sizeof words);
    strcpy(body + sizeof words, file);
    record(dump, 2, body, (sizeof words + strlen(file) + 1 + 7) / 8 * 8);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    uint64_t rounds = strtoull(argv[2], 0, 10) * 1000000;
    char *memory = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *first = memory + 64, *second = memory + 128;
    memcpy(first, code, sizeof code);
    memcpy(second, code, sizeof code);
    char path[64];
    if (!strcmp(argv[1], "map")) {
        sprintf(path, "/tmp/perf-%d.map", getpid());
        FILE *map = fopen(path, "w");
        fprintf(map, "%lx %zx first\n%lx %zx second, and last\n", (long)first, sizeof code, (long)second, sizeof code);
        fclose(map);
    } else {
        sprintf(path, "jit-%d.dump", getpid());
        FILE *dump = fopen(path, "w+");
        uint32_t head[10] = {0x4a695444, 1, 40, 62, 0, getpid()};
        fwrite(head, 1, sizeof head, dump);
        lines(dump, first, "source.x", 7);
        load(dump, first, "first");
        load(dump, second, "second, and last");
        fflush(dump);
        /* A sign to profilers. */
        mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0);
        fclose(dump);
    }
    ((void (*)(uint64_t))first)(rounds);
    ((void (*)(uint64_t))second)(3 * rounds);
    return 0;
}
