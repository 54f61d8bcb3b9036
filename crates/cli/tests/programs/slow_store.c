/* The program of the OptiWISE paper's Figure 8: a store that misses the caches, then arithmetic that does
 * not depend on it. Arguments: rounds. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    uint64_t slots = (64u << 20) / sizeof(uint32_t), random = 88172645463325252u;
    uint32_t *table = calloc(slots, sizeof *table), x = 1, y = 2;
    for (long k = 0; k < rounds; k++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint64_t slot = random & (slots - 1);
        __asm__ volatile("mov %0, (%2,%3,4)\n"
                         "add %1, %0\n xor %1, %0\n add %1, %0\n xor %1, %0\n"
                         "add %1, %0\n xor %1, %0\n add %1, %0\n xor %1, %0\n"
                         "add %1, %0\n xor %1, %0\n add %1, %0\n xor %1, %0\n"
                         : "+r"(x) : "r"(y), "r"(table), "r"(slot) : "memory");
    }
    printf("%u\n", x + table[5]);
    return 0;
}
