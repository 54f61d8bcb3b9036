/* Loops at one address come and go: versions of a loop, each of which is written over another while nobody may execute
 * it, and a loop that stays with code behind it that does not. */
#include "torture.h"
#include <sys/mman.h>

/* Adds to what `sum` points to, in each of some rounds, what `version` says, and returns `behind`. */
static void put(unsigned char *at, int version, int behind)
{
    unsigned char *head = at;
    for (int i = 0; i <= version; i++) {
        memcpy(at, (unsigned char[]){0x48, 0x83, 0x06, version + 1}, 4); /* add qword ptr [rsi], version + 1 */
        at += 4;
    }
    memcpy(at, (unsigned char[]){0x48, 0xff, 0xcf}, 3); /* dec rdi */
    at += 3;
    at[0] = 0x75; /* jne head */
    at[1] = head - (at + 2);
    at[2] = 0xb8; /* mov eax, behind */
    memcpy(at + 3, &behind, 4);
    at[7] = 0xc3;
}

int main(void)
{
    unsigned char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    int (*code)(long, long *) = (int (*)(long, long *))(page + 100);
    for (int versions = 1; versions <= 5; versions++) {
        for (int i = 0; i < 400; i++) {
            int version = i % versions, rounds = i % 11 + 1, behind = i & 1;
            long sum = 0;
            CHECK(!mprotect(page, 4096, PROT_READ | PROT_WRITE));
            put(page + 100, version, behind);
            CHECK(!mprotect(page, 4096, PROT_READ | PROT_EXEC));
            CHECK(code(rounds, &sum) == behind);
            CHECK(sum == (long)rounds * (version + 1) * (version + 1));
        }
    }
    return passed();
}
