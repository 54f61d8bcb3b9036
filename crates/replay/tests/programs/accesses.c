/* Accesses memory in known ways between `begin` and `end`, and prints these: R, W, M (both) or P
 * (prefetched), address, bytes. */
#include <stdint.h>
#include <stdio.h>

uint64_t table[64] = {1, 2, 3};
static uint32_t indexes[8] = {7, 1, -1, 3, 0, 0, 0, 0};
static uint32_t selected[8] = {0x80000000, 0, 0x80000000, 0x80000000};
uint64_t stack;
extern char begin[], end[], gather_begin[], gather_end[];
void probe(uint64_t *), gather(void *, uint32_t *, uint32_t *);

asm(".text\n"
    "probe: begin:\n"
    "push %rbx\n"
    "mov %rsp, stack(%rip)\n"
    "mov %rdi, %rbx\n"
    "mov $3, %r9d\n"
    "mov 4(%rbx), %eax\n"
    "add %eax, 8(%rbx, %r9, 4)\n"
    "lea 64(%rbx), %rsi\n"
    "lea 128(%rbx), %rdi\n"
    "mov $10, %ecx\n"
    "rep movsb\n"
    "mov $0, %ecx\n"
    "rep movsb\n"
    "std\n"
    "lea 96(%rbx), %rsi\n"
    "lea 192(%rbx), %rdi\n"
    "mov $3, %ecx\n"
    "rep movsq\n"
    "cld\n"
    "stosw\n"
    "mov %fs:0, %rax\n"
    "movups %xmm0, 256(%rbx)\n"
    "push 16(%rbx)\n"
    "pop 24(%rbx)\n"
    "nopl 8(%rbx)\n"
    "prefetcht0 40(%rbx, %r9, 8)\n"
    "prefetchnta (%r9)\n"
    "pop %rbx\n"
    "ret\n"
    "end:\n"
    "gather: gather_begin:\n"
    "vmovdqu (%rsi), %xmm9\n"
    "vmovdqu (%rdx), %xmm2\n"
    "vpgatherdd %xmm2, 8(%rdi, %xmm9, 4), %xmm0\n"
    "ret\n"
    "gather_end:\n");

static void expect(char kind, const void *address, long distance, int bytes)
{
    printf("%c %lx %d\n", kind, (long)address + distance, bytes);
}

int main(void)
{
    probe(table);
    printf("code %lx %lx\n", (long)begin, (long)end);
    expect('W', (void *)stack, 0, 8);
    expect('W', &stack, 0, 8);
    expect('R', table, 4, 4);
    expect('M', table, 8 + 12, 4);
    expect('R', table, 64, 10);
    expect('W', table, 128, 10);
    expect('R', table, 96 - 16, 24);
    expect('W', table, 192 - 16, 24);
    expect('W', table, 192 - 24, 2);
    expect('R', __builtin_thread_pointer(), 0, 8);
    expect('W', table, 256, 16);
    expect('R', table, 16, 8);
    expect('W', (void *)stack, -8, 8);
    expect('R', (void *)stack, -8, 8);
    expect('W', table, 24, 8);
    expect('P', table, 40 + 24, 1);
    expect('P', 0, 3, 1);
    expect('R', (void *)stack, 0, 8);
    expect('R', (void *)stack, 8, 8);
    if (__builtin_cpu_supports("avx2")) {
        gather(table, indexes, selected);
        printf("code %lx %lx\n", (long)gather_begin, (long)gather_end);
        expect('R', indexes, 0, 16);
        expect('R', selected, 0, 16);
        expect('R', table, 8 + 28, 4);
        expect('R', table, 8 - 4, 4);
        expect('R', table, 8 + 12, 4);
        expect('R', (void *)stack, 8, 8);
    }
    return 0;
}
