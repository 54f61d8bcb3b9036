/* Code that is written at run time, again and again at the same place, and calls back into the program, which may
   jump out of it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static jmp_buf landing;

__attribute__((noinline)) static long back(long value) {
    if (value % 13 == 0)
        longjmp(landing, 1);
    return value & 1 ? 3 * value + 1 : value / 2;
}

/* sub rsp, 8; call the function; add, subtract or exclusive or; add rsp, 8; ret. */
__attribute__((noinline)) static void write_code(uint8_t *at, int round) {
    static const uint8_t kinds[3] = {0xc0, 0xe8, 0xf0};
    uintptr_t function = (uintptr_t)back;
    memcpy(at, "\x48\x83\xec\x08\x48\xb8", 6);
    memcpy(at + 6, &function, 8);
    memcpy(at + 14, "\xff\xd0\x48\x83", 4);
    at[18] = kinds[round % 3];
    at[19] = (uint8_t)(round & 0x3f);
    memcpy(at + 20, "\x48\x83\xc4\x08\xc3", 5);
}

__attribute__((noinline)) static long run(long (*code)(long), int round) {
    volatile long sum = 0;
    for (volatile int i = 1; i < 20; i++) {
        if (setjmp(landing))
            sum -= 1;
        else
            sum += code(round + i);
    }
    return sum;
}

int main(void) {
    uint8_t *at =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return 1;
    long sum = 0;
    for (int round = 0; round < 200; round++) {
        write_code(at, round);
        sum += run((long (*)(long))(void *)at, round);
    }
    printf("%ld\n", sum);
    return 0;
}
