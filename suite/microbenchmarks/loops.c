/* Loops of known latency and throughput, to be timed natively and executed in a modelled core
 * (cargo xtask bench microbenchmarks).
 *   loops            a line for each: its name, units of a round, rounds that warm, and whether it leaves the core
 *   loops NAME       times it: cycles of a unit, told by a chain of dependent additions that is timed before and
 *                    behind, so that the clock's frequency does not matter; nanoseconds of an addition, and cycles of
 *                    four that do not wait for each other, which both are more where another program has a part of
 *                    the core; status 3 if one had all the time
 *   loops NAME N     executes N rounds, without looking at the time
 * build: gcc -O2 -mavx2 -mfma -mno-red-zone
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* What goes on from call to call: where loops load from and store to, how far they came, their random numbers. */
static char *place;
static uint64_t offset, state = 88172645463325252ull;
static const double near_one = 1.0000001;

/* A loop of so many repetitions of a body. rdi and rsi are the place, r12 the offset, r13 the state, rbx is 1, xmm0
 * is 1.0 and xmm1 a number near it; others may be used. */
#define LOOP(name, before, units, body)                                                                        \
    static void name(long rounds)                                                                              \
    {                                                                                                          \
        asm volatile("mov $1, %%ebx\n mov %[place], %%rdi\n mov %%rdi, %%rsi\n mov %[offset], %%r12\n"         \
                     "mov %[state], %%r13\n vcvtsi2sd %%rbx, %%xmm0, %%xmm0\n vmovsd %[near], %%xmm1\n"        \
                     "mov $6364136223846793005, %%r14\n .p2align 6\n" before                                   \
                     "1:\n .rept " #units "\n" body "\n .endr\n"                                               \
                     "sub $1, %[rounds]\n jnz 1b\n"                                                            \
                     "mov %%rdi, %[place]\n mov %%r12, %[offset]\n mov %%r13, %[state]\n"                      \
                     : [rounds] "+r"(rounds), [place] "+m"(place), [offset] "+m"(offset), [state] "+m"(state)  \
                     : [near] "m"(near_one)                                                                    \
                     : "rax", "rbx", "rcx", "rdx", "rdi", "rsi", "r8", "r9", "r12", "r13", "r14", "xmm0",      \
                       "xmm1", "xmm2", "memory", "cc");                                                        \
    }

LOOP(additions, "", 50, "add %%rbx, %%rax")
LOOP(independent_additions, "", 50,
     "add %%ebx, %%eax\n add %%ebx, %%ecx\n add %%ebx, %%edx\n add %%ebx, %%r8d\n add %%ebx, %%r9d")
LOOP(four_and_two, "", 20,
     "add %%ebx, %%eax\n add %%ebx, %%ecx\n mov (%%rdi), %%r9\n add %%ebx, %%edx\n add %%ebx, %%r8d\n mov (%%rdi), %%r9")
LOOP(sums_of_three, "", 50, "lea 1(%%rax,%%rbx), %%rax")
LOOP(multiplications, "", 50, "imul %%rbx, %%rax")
LOOP(independent_multiplications, "", 50, "imul $3, %%rbx, %%rcx")
LOOP(float_additions, "", 50, "vaddsd %%xmm1, %%xmm0, %%xmm0")
LOOP(float_multiplications, "", 50, "vmulsd %%xmm1, %%xmm0, %%xmm0")
LOOP(fused_multiplications, "", 50, "vfmadd213sd %%xmm1, %%xmm1, %%xmm0")
LOOP(float_divisions, "", 50, "vdivsd %%xmm1, %%xmm0, %%xmm0")
LOOP(independent_float_divisions, "", 50, "vdivsd %%xmm1, %%xmm0, %%xmm2")
/* Of what is just below 1, which stays so: some processors have the root of 1 sooner. */
LOOP(roots, "vdivsd %%xmm1, %%xmm0, %%xmm1\n", 50, "vsqrtsd %%xmm1, %%xmm1, %%xmm1")
LOOP(chained_loads, "", 50, "mov (%%rdi), %%rdi")
LOOP(loads, "", 60, "mov (%%rdi), %%rax")
LOOP(stores, "", 50, "mov %%rax, (%%rdi)")
LOOP(stores_to_lines, "", 50, "mov %%rax, (%%rdi)\n mov %%rax, 64(%%rdi)")
LOOP(forwarding, "", 50, "mov %%rax, (%%rdi)\n mov (%%rsi), %%rax")
LOOP(forwarding_by_register, "", 50, "mov %%rax, (%%rdi)\n mov (%%rdi), %%rax")
LOOP(blocked_forwarding, "", 20, "mov %%eax, (%%rdi)\n mov %%eax, 4(%%rdi)\n mov (%%rsi), %%rax")
LOOP(load_fences, "", 20, "lfence")
LOOP(full_fences, "", 20, "mfence")
LOOP(locked_additions, "", 20, "lock xadd %%rax, (%%rdi)")
#define THREE "add $1, %%eax\n add $2, %%ecx\n add $3, %%edx"
LOOP(loop_in_a_line, "", 1, THREE)
LOOP(loop_across_lines, ".fill 57, 1, 0x90\n", 1, THREE)

/* What is computed beside others by a constant, and addresses as they are written. */
LOOP(constants_to_accumulator, "", 20,
     "add $0x12345, %%eax\n add %%ebx, %%ecx\n add %%ebx, %%edx\n add %%ebx, %%r8d")
LOOP(constants, "", 20, "mov $5, %%eax\n mov $6, %%ecx\n mov $7, %%edx\n mov $8, %%r8d")
LOOP(shifts, "", 20, "shl $3, %%eax\n shr $3, %%ecx\n sar $3, %%edx\n rol $3, %%r8d")
LOOP(sums_of_two, "", 50, "lea (%%rax,%%rbx), %%rax")
LOOP(multiplied_sums, "", 50, "lea (%%rbx,%%rax,4), %%rax")
LOOP(independent_leas, "", 20, "lea 8(%%rdi), %%rax\n lea 16(%%rdi), %%rcx\n lea 32(%%rdi), %%rdx\n lea 64(%%rdi), %%r8")
LOOP(multiplied_addresses, "xor %%eax, %%eax\n", 50, "mov (%%rdi,%%rax,8), %%rax")
LOOP(loads_across_lines, "", 50, "mov 60(%%rdi), %%rax")
LOOP(stores_across_lines, "", 50, "mov %%rax, 60(%%rdi)")
LOOP(vector_loads, "", 50, "vmovsd (%%rdi), %%xmm2")
LOOP(vector_stores, "", 50, "vmovsd %%xmm0, (%%rdi)")
LOOP(vector_forwarding, "", 50, "vmovsd %%xmm0, (%%rdi)\n vmovsd (%%rdi), %%xmm0")
LOOP(updates, "", 50, "addq $1, (%%rdi)")
LOOP(updates_in_three, "", 50, "mov (%%rdi), %%rax\n add %%rbx, %%rax\n mov %%rax, (%%rdi)")
LOOP(to_vector_and_back, "", 50, "vmovq %%rax, %%xmm2\n vmovq %%xmm2, %%rax")
LOOP(converted_and_back, "", 50, "vcvtsi2sd %%rax, %%xmm0, %%xmm2\n vcvttsd2si %%xmm2, %%rax")
LOOP(shuffled_bytes, "", 50, "vpshufb %%xmm1, %%xmm0, %%xmm0")
LOOP(permuted, "", 50, "vpermq $1, %%ymm0, %%ymm0")
LOOP(widened, "", 50, "vpmovzxbw %%xmm0, %%ymm0")
LOOP(stack_pointer, "", 20, "push %%rax\n sub $24, %%rsp\n add $24, %%rsp\n pop %%rax")

/* Vector instructions beside what takes the ports of additions, of multiplications, or any. */
#define FOUR(operation) ".rept 4\n " operation " %%xmm0, %%xmm1, %%xmm2\n .endr\n"
LOOP(zeroed_vectors, "", 20, "pxor %%xmm2, %%xmm2")
LOOP(converted_beside_additions, "", 20, "vcvtsi2sd %%eax, %%xmm1, %%xmm2\n" FOUR("vaddps"))
LOOP(moved_beside_logic, "", 20, "vmovd %%eax, %%xmm2\n" FOUR("vandps"))
LOOP(compared_beside_additions, "", 20, "ucomisd %%xmm0, %%xmm1\n" FOUR("vaddps"))
LOOP(compared_beside_multiplications, "", 20, "ucomisd %%xmm0, %%xmm1\n" FOUR("vmulps"))
LOOP(larger_beside_additions, "", 20, "vmaxsd %%xmm0, %%xmm1, %%xmm2\n" FOUR("vaddps"))
LOOP(shifted_beside_additions, "", 20, "vpsrld $3, %%xmm0, %%xmm2\n" FOUR("vaddps"))
LOOP(multiplied_beside_multiplications, "", 20, "vpmulld %%xmm0, %%xmm1, %%xmm2\n" FOUR("vmulps"))

/* Jumps over a byte, eight bytes from each other, and calls of a function that returns at once. */
LOOP(jumps, "", 512, ".p2align 3\n jmp 2f\n nop\n 2:")
LOOP(calls, "", 32, "call 3f\n jmp 2f\n .p2align 5\n 3: ret\n .p2align 5\n 2:")

/* Lines of so many instructions, left by a jump or for the next one. */
#define LINE_OF(instructions) ".rept " #instructions " - 1\n nop\n .endr\n jmp 2f\n .p2align 6\n 2:"
LOOP(lines_of_twelve, "", 32, LINE_OF(12))
LOOP(lines_of_thirteen, "", 32, LINE_OF(13))
LOOP(lines_of_twenty_five, "", 32, LINE_OF(25))
LOOP(lines_in_order, "", 96, ".byte 0x0f, 0x1f, 0x40, 0")

/* Code that is written, by four stores or by one, and then called. */
LOOP(written_once, "", 1, "movb $0xc3, (%%rdi)\n call *%%rdi")
LOOP(written_code, "", 1, "movb $0xc3, (%%rdi)\n movb $0x90, 1(%%rdi)\n movl $1, 4(%%rdi)\n movl $1, 8(%%rdi)\n call *%%rdi")

/* A bit of a random number decides, and one that is never set. */
#define RANDOM                                                                                                 \
    "mov %%r13, %%rax\n shl $13, %%rax\n xor %%rax, %%r13\n mov %%r13, %%rax\n shr $7, %%rax\n"                \
    "xor %%rax, %%r13\n mov %%r13, %%rax\n shl $17, %%rax\n xor %%rax, %%r13\n"
#define BRANCH(bit) RANDOM "mov %%r13d, %%eax\n and $" #bit ", %%eax\n jz 2f\n add %%rbx, %%rcx\n 2:"
LOOP(calm_branches, "", 1, BRANCH(0))
LOOP(random_branches, "", 1, BRANCH(64))

/* Lines in order; at random; and at random where the next address needs what was loaded, which is 0. */
#define IN_ORDER(mask, access) access "\n add $64, %%r12\n and $" #mask ", %%r12"
#define READ "mov (%%rdi,%%r12), %%rax"
#define WRITE "mov %%rbx, 8(%%rdi,%%r12)"
#define AT_RANDOM(mask)                                                                                        \
    "imul %%r14, %%r13\n add $12345, %%r13\n mov %%r13, %%rax\n shr $30, %%rax\n and $" #mask ", %%eax\n"      \
    "mov (%%rdi,%%rax), %%rax"
#define CHAINED(mask) AT_RANDOM(mask) "\n add %%rax, %%r13"
#define LEVEL(name, mask)                                                                                      \
    LOOP(name##_read, "", 8, IN_ORDER(mask, READ))                                                             \
    LOOP(name##_written, "", 8, IN_ORDER(mask, WRITE))                                                         \
    LOOP(name##_random, "", 8, AT_RANDOM(mask))                                                                \
    LOOP(name##_chained, "", 8, CHAINED(mask))
LEVEL(second, 0x7ffc0)
LEVEL(last, 0x1fffc0)
LEVEL(memory, 0x7ffffc0)

/* One load at a constant stride of so many lines, back to the beginning behind the last: an odd number of lines comes to
 * each. One instruction, since prefetchers tell strides by it. Or the next address is what was loaded. */
#define EVERY(lines, mask) READ "\n add $64 * " #lines ", %%r12\n and $" #mask ", %%r12"
LOOP(second_every_129th, "", 1, EVERY(129, 0x7ffc0))
LOOP(last_every_257th, "", 1, EVERY(257, 0x1fffc0))
LOOP(memory_every_65th, "", 1, EVERY(65, 0x7ffffc0))
LOOP(one_chained_load, "", 1, "mov (%%rdi), %%rdi")

/* What a loop goes through: a pointer to itself, zeroes, pieces that point to each other in random order, lines that point
 * to the one that is a piece further on, or code. */
enum memory { ITSELF, ZEROES, CHAIN, STRIDE, CODE };
static const struct loop {
    const char *name;
    void (*run)(long);
    int units;            /* of a round */
    long rounds;          /* timed at once */
    long warming;         /* before */
    enum memory memory;
    size_t bytes, piece;  /* of memory */
    int leaves;           /* the core, for what it shares with others */
} loops[] = {
    {"additions", additions, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"five independent additions", independent_additions, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"four additions and two loads", four_and_two, 20, 500, 5000, ITSELF, 64, 64, 0},
    {"sums of three", sums_of_three, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"multiplications", multiplications, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"independent multiplications", independent_multiplications, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"float additions", float_additions, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"float multiplications", float_multiplications, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"fused multiplications and additions", fused_multiplications, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"float divisions", float_divisions, 50, 200, 5000, ITSELF, 64, 64, 0},
    {"independent float divisions", independent_float_divisions, 50, 200, 5000, ITSELF, 64, 64, 0},
    {"square roots", roots, 50, 200, 5000, ITSELF, 64, 64, 0},
    {"loads", loads, 60, 500, 5000, ITSELF, 64, 64, 0},
    {"loads, chained", chained_loads, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"stores", stores, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"stores to two lines in turn", stores_to_lines, 50, 500, 5000, ITSELF, 128, 128, 0},
    {"store and load", forwarding, 50, 200, 5000, ITSELF, 64, 64, 0},
    {"store and load by one register", forwarding_by_register, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"two stores and a load of both", blocked_forwarding, 20, 200, 5000, ITSELF, 64, 64, 0},
    {"lfence", load_fences, 20, 200, 5000, ITSELF, 64, 64, 0},
    {"mfence", full_fences, 20, 200, 5000, ITSELF, 64, 64, 0},
    {"lock xadd", locked_additions, 20, 200, 5000, ITSELF, 64, 64, 0},
    {"loop in a line", loop_in_a_line, 1, 20000, 100000, ITSELF, 64, 64, 0},
    {"loop across two lines", loop_across_lines, 1, 20000, 100000, ITSELF, 64, 64, 0},
    {"random numbers and calm branches", calm_branches, 1, 5000, 100000, ITSELF, 64, 64, 0},
    {"random numbers and random branches", random_branches, 1, 5000, 100000, ITSELF, 64, 64, 0},
    {"chain over 256 pages", chained_loads, 50, 200, 1000, CHAIN, 256 * 4160, 4160, 0},
    {"chain over 2048 pages", chained_loads, 50, 200, 1000, CHAIN, 2048 * 4160, 4160, 0},
    {"constant to the accumulator, three additions", constants_to_accumulator, 20, 500, 5000, ITSELF, 64, 64, 0},
    {"four constants", constants, 20, 500, 5000, ITSELF, 64, 64, 0},
    {"four shifts", shifts, 20, 500, 5000, ITSELF, 64, 64, 0},
    {"sums of two by lea", sums_of_two, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"multiplied sums by lea", multiplied_sums, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"four independent leas", independent_leas, 20, 500, 5000, ITSELF, 64, 64, 0},
    {"loads, chained by a multiplied index", multiplied_addresses, 50, 500, 5000, ZEROES, 64, 0, 0},
    {"loads across lines", loads_across_lines, 50, 500, 5000, ZEROES, 128, 0, 0},
    {"stores across lines", stores_across_lines, 50, 500, 5000, ZEROES, 128, 0, 0},
    {"loads to vectors", vector_loads, 50, 500, 5000, ZEROES, 64, 0, 0},
    {"stores of vectors", vector_stores, 50, 500, 5000, ZEROES, 64, 0, 0},
    {"store and load of vectors", vector_forwarding, 50, 200, 5000, ZEROES, 64, 0, 0},
    {"memory counted up", updates, 50, 500, 5000, ZEROES, 64, 0, 0},
    {"load, addition and store", updates_in_three, 50, 500, 5000, ZEROES, 64, 0, 0},
    {"to a vector register and back", to_vector_and_back, 50, 200, 5000, ITSELF, 64, 64, 0},
    {"converted and back", converted_and_back, 50, 200, 5000, ITSELF, 64, 64, 0},
    {"bytes shuffled", shuffled_bytes, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"vectors permuted", permuted, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"bytes widened", widened, 50, 500, 5000, ITSELF, 64, 64, 0},
    {"push, stack pointer computed twice, pop", stack_pointer, 20, 500, 5000, ITSELF, 64, 64, 0},
    {"jumps", jumps, 512, 50, 500, ITSELF, 64, 64, 0},
    {"call, return and jump", calls, 32, 300, 5000, ITSELF, 64, 64, 0},
    {"jumps from line to line, of 12 instructions each", lines_of_twelve, 32, 300, 5000, ITSELF, 64, 64, 0},
    {"jumps from line to line, of 13 instructions each", lines_of_thirteen, 32, 300, 5000, ITSELF, 64, 64, 0},
    {"jumps from line to line, of 25 instructions each", lines_of_twenty_five, 32, 300, 5000, ITSELF, 64, 64, 0},
    {"instructions of four bytes", lines_in_order, 96, 500, 5000, ITSELF, 64, 64, 0},
    {"a store to code, and a call of it", written_once, 1, 5000, 20000, CODE, 4096, 0, 0},
    {"four stores to code, and a call of it", written_code, 1, 5000, 20000, CODE, 4096, 0, 0},
    {"vectors zeroed", zeroed_vectors, 20, 500, 5000, ITSELF, 64, 64, 0},
    {"integer converted, four additions", converted_beside_additions, 20, 500, 5000, ITSELF, 64, 64, 0},
    {"integer to a vector, four logical operations", moved_beside_logic, 20, 500, 5000, ITSELF, 64, 64, 0},
    {"floats compared, four additions", compared_beside_additions, 20, 500, 5000, ITSELF, 64, 64, 0},
    {"floats compared, four multiplications", compared_beside_multiplications, 20, 500, 5000, ITSELF, 64, 64, 0},
    {"larger floats, four additions", larger_beside_additions, 20, 500, 5000, ITSELF, 64, 64, 0},
    {"vectors shifted, four additions", shifted_beside_additions, 20, 500, 5000, ITSELF, 64, 64, 0},
    {"vectors multiplied, four multiplications", multiplied_beside_multiplications, 20, 500, 5000, ITSELF, 64, 64, 0},
    {"chain over 8192 pages", chained_loads, 50, 200, 2000, CHAIN, 8192 * 4160, 4160, 1},
    {"second level, read in order", second_read, 8, 1000, 20000, ZEROES, 1 << 19, 0, 0},
    {"second level, written in order", second_written, 8, 1000, 20000, ZEROES, 1 << 19, 0, 0},
    {"second level, at random", second_random, 8, 1000, 9000, ZEROES, 1 << 19, 0, 0},
    {"second level, chained", second_chained, 8, 400, 9000, ZEROES, 1 << 19, 0, 0},
    {"last level, read in order", last_read, 8, 4000, 9000, ZEROES, 1 << 21, 0, 1},
    {"last level, written in order", last_written, 8, 4000, 9000, ZEROES, 1 << 21, 0, 1},
    {"last level, at random", last_random, 8, 1000, 36000, ZEROES, 1 << 21, 0, 1},
    {"last level, chained", last_chained, 8, 200, 36000, ZEROES, 1 << 21, 0, 1},
    {"memory, read in order", memory_read, 8, 2000, 20000, ZEROES, 1 << 27, 0, 1},
    {"memory, written in order", memory_written, 8, 2000, 20000, ZEROES, 1 << 27, 0, 1},
    {"memory, at random", memory_random, 8, 500, 20000, ZEROES, 1 << 27, 0, 1},
    {"memory, chained", memory_chained, 8, 100, 20000, ZEROES, 1 << 27, 0, 1},
    {"second level, every 129th line", second_every_129th, 1, 10000, 100000, ZEROES, 1 << 19, 0, 0},
    {"second level, chained, every 129th line", one_chained_load, 1, 10000, 100000, STRIDE, 1 << 19, 129 * 64, 0},
    {"last level, every 257th line", last_every_257th, 1, 10000, 100000, ZEROES, 1 << 21, 0, 1},
    {"last level, chained, every 3rd line", one_chained_load, 1, 10000, 100000, STRIDE, 1 << 21, 3 * 64, 1},
    {"last level, chained, every 65th line", one_chained_load, 1, 10000, 100000, STRIDE, 1 << 21, 65 * 64, 1},
    {"last level, chained, every 257th line", one_chained_load, 1, 10000, 100000, STRIDE, 1 << 21, 257 * 64, 1},
    {"memory, every 65th line", memory_every_65th, 1, 4000, 100000, ZEROES, 1 << 27, 0, 1},
    {"memory, chained, every 3rd line", one_chained_load, 1, 4000, 100000, STRIDE, 1 << 27, 3 * 64, 1},
    {"memory, chained, every 65th line", one_chained_load, 1, 4000, 100000, STRIDE, 1 << 27, 65 * 64, 1},
    {"memory, chained, every 1025th line", one_chained_load, 1, 4000, 100000, STRIDE, 1 << 27, 1025 * 64, 1},
};

static void prepare(const struct loop *loop)
{
    int is_list = loop->memory == ITSELF || loop->memory == CHAIN;
    size_t pages = (loop->bytes + 4095) / 4096, pieces = is_list ? loop->bytes / loop->piece : 0;
    size_t *order = malloc((pieces + 1) * sizeof *order);
    place = aligned_alloc(4096, pages * 4096);
    if (!place || !order) exit(1);
    for (size_t page = 0; page < pages; page++) *(volatile char *)(place + page * 4096) = 0;
    if (loop->memory == CODE) {
        const unsigned char returns = 0xc3;
        if (mprotect(place, pages * 4096, PROT_READ | PROT_WRITE | PROT_EXEC)) exit(1);
        memset(place, returns, pages * 4096);
    }
    for (size_t i = 0; i < pieces; i++) order[i] = i;
    for (size_t i = pieces; i-- > 1;) {
        state ^= state << 13; state ^= state >> 7; state ^= state << 17;
        size_t j = state % i, other = order[i];     /* never itself: a single circle */
        order[i] = order[j]; order[j] = other;
    }
    for (size_t i = 0; i < pieces; i++) *(char **)(place + i * loop->piece) = place + order[i] * loop->piece;
    for (size_t i = 0; loop->memory == STRIDE && i < loop->bytes; i += 64) {
        *(char **)(place + i) = place + (i + loop->piece) % loop->bytes;
    }
    free(order);
}

static double timed(void (*run)(long), long rounds)
{
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    run(rounds);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    return ended.tv_sec - begun.tv_sec + 1e-9 * (ended.tv_nsec - begun.tv_nsec);
}

static int ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* Prints the median of repetitions before and behind which additions took as long as they did at the fastest; of loops
 * that leave the core the lowest tenth, as what else the machine does takes caches and bandwidth now and then, and never
 * gives any. A busy neighbour on the same core slows a chain of additions or those that fill all adders, and not every
 * loop with them: by a slow chain square roots took 15 cycles rather than 21. Some loops it even makes faster, as it
 * breaks their step: independent divisions took 4.5 cycles rather than 5 in one repetition of twenty. */
static void measure(const struct loop *loop)
{
    enum { REPETITIONS = 501, TRIES = 4000, CHAINED = 50000, BESIDE = 20000 };
    struct { double took, chain, beside; } seen[REPETITIONS];
    double cycles[REPETITIONS], fastest = 1, least = 100;
    int repetitions = 0, count = 0;
    loop->run(loop->warming);
    for (int tries = 0; tries < TRIES && repetitions < REPETITIONS; tries++) {
        double beside = timed(independent_leas, BESIDE / 20), before = timed(additions, CHAINED / 50);
        double took = timed(loop->run, loop->rounds);
        double behind = timed(additions, CHAINED / 50), beside_behind = timed(independent_leas, BESIDE / 20);
        if (before > 1.01 * behind || behind > 1.01 * before) continue;
        if (beside < beside_behind) beside = beside_behind;
        double chain = (before + behind) / 2 / CHAINED;
        beside /= chain * BESIDE;
        if (chain < fastest) fastest = chain;
        if (beside < least) least = beside;
        if (beside > 1.1 * least) continue;
        seen[repetitions].took = took; seen[repetitions].chain = chain; seen[repetitions++].beside = beside;
    }
    for (int i = 0; i < repetitions; i++) {
        if (seen[i].chain > 1.01 * fastest || seen[i].beside > 1.1 * least) continue;
        cycles[count++] = seen[i].took / seen[i].chain / ((double)loop->rounds * loop->units);
    }
    if (count == 0) exit(3);
    qsort(cycles, count, sizeof *cycles, ascending);
    printf("%.3f\t%.4f\t%.3f\n", cycles[count / (loop->leaves ? 10 : 2)], 1e9 * fastest, least);
}

int main(int argc, char **argv)
{
    const struct loop *end = loops + sizeof loops / sizeof *loops;
    for (const struct loop *loop = loops; loop < end; loop++) {
        if (argc < 2) {
            printf("%s\t%d\t%ld\t%d\n", loop->name, loop->units, loop->warming, loop->leaves);
        } else if (!strcmp(loop->name, argv[1])) {
            prepare(loop);
            if (argc > 2) loop->run(atol(argv[2]));
            else measure(loop);
            return 0;
        }
    }
    return argc < 2 ? 0 : 2;
}
