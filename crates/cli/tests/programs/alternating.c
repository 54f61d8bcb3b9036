// Two phases in turn, of which one executes 7 and the other 3 of 10 instructions: 3,500,000 and 1,500,000 at a time, as
// often as the argument says, and next to nothing beside that.
#include <stdlib.h>

#define ROUNDS(rounds, body) \
    __asm__ volatile("mov %0, %%ecx\n1: " body "dec %%ecx\n jnz 1b" : : "i"(rounds) : "ecx", "eax", "edx", "cc")

__attribute__((noinline)) static void seven(void) {
    ROUNDS(350000, "add $3, %%eax\n add $5, %%edx\n add $3, %%eax\n add $5, %%edx\n"
                   "add $3, %%eax\n add $5, %%edx\n add $3, %%eax\n add $5, %%edx\n");
}

__attribute__((noinline)) static void three(void) {
    ROUNDS(300000, "imul $3, %%eax, %%eax\n xor %%eax, %%edx\n rol $7, %%eax\n");
}

int main(int count, char **arguments) {
    for (int times = count > 1 ? atoi(arguments[1]) : 1; times > 0; times--) {
        seven();
        three();
    }
    return 0;
}
