/* A tiny JIT that keeps rewriting one page: emits `mov eax,imm; add rax,rdi;
 * (imul); ret`, calls it, and overwrites it with the next version, so a tool
 * that caches decoded code must notice.  args: rounds */
#include "kernel.h"
#include <string.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
    long rounds = arg(argc, argv, 1, 200000);
    unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) { perror("mmap"); return 1; }
    uint64_t h = 1;
    for (long k = 0; k < rounds; k++) {
        unsigned char *q = p; uint32_t imm = k * 2654435761u;
        *q++ = 0xB8; memcpy(q, &imm, 4); q += 4;                 /* mov eax, imm32 */
        *q++ = 0x48; *q++ = 0x01; *q++ = 0xF8;                   /* add rax, rdi */
        if (k & 1) { *q++ = 0x48; *q++ = 0x6B; *q++ = 0xC0; *q++ = 0x1F; } /* imul rax, rax, 31 */
        *q++ = 0xC3;                                             /* ret */
        uint64_t (*fn)(uint64_t) = (uint64_t (*)(uint64_t))(void *)p;
        for (int i = 0; i < 10; i++) h = mix(h, fn(h));
    }
    printf("smc %016lx\n", (unsigned long)h);
    return 0;
}
