/* Random instruction sequences, executed from memory that was written at run time: `sequences SEED FIRST BATCHES` runs
 * so many batches of 512 from batch FIRST on and prints a hash of each: of all registers, flags and memory after three
 * executions of each sequence. A run under count must print the same as a native one. With `detail`, it prints a line
 * for each sequence instead; with `detail N` also the code of sequence N of each batch, and its state after each.
 *
 * What a sequence is depends on the seed and its number alone. Nothing here needs a library: all addresses are fixed,
 * so that also return addresses and stack pointers are the same in each run. */
#include "grammar.h"

enum { RUNS = 3, WINDOW = 1024 };

struct state { u64 gpr[16], flags, mxcsr; u8 vectors[16][32]; u64 window[WINDOW / 8]; };
struct state state;
u64 entry, saved_stack;

/* Loads `state`, executes what is at `entry`, and stores what it left, with the stack below. */
void execute(void);
#define EACH(form) form(rax, 0) form(rcx, 8) form(rdx, 16) form(rbx, 24) form(rbp, 40) form(rsi, 48) form(rdi, 56) \
    form(r8, 64) form(r9, 72) form(r10, 80) form(r11, 88) form(r12, 96) form(r13, 104) form(r14, 112) form(r15, 120)
#define VECTORS(form) form(0) form(1) form(2) form(3) form(4) form(5) form(6) form(7) form(8) form(9) form(10) form(11) \
    form(12) form(13) form(14) form(15)
#define LOAD(register, place) "mov state+" #place "(%rip), %" #register "\n"
#define STORE(register, place) "mov %" #register ", state+" #place "(%rip)\n"
#define LOAD_VECTOR(n) "vmovdqu state+144+32*" #n "(%rip), %ymm" #n "\n"
#define STORE_VECTOR(n) "vmovdqu %ymm" #n ", state+144+32*" #n "(%rip)\n"
__asm__(".text\nexecute:\n"
        "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
        "mov %rsp, saved_stack(%rip); sub $8192, %rsp; and $-64, %rsp\n"
        "lea -1024(%rsp), %rdi; xor %eax, %eax; mov $128, %ecx; rep stosq\n"
        "ldmxcsr state+136(%rip); push state+128(%rip); popfq\n" VECTORS(LOAD_VECTOR) EACH(LOAD)
        "call *entry(%rip)\n" EACH(STORE) "mov %rsp, state+32(%rip); pushfq; pop state+128(%rip); cld\n"
        "stmxcsr state+136(%rip)\n" VECTORS(STORE_VECTOR)
        "lea -1024(%rsp), %rsi; lea state+656(%rip), %rdi; mov $128, %ecx; rep movsq; vzeroupper\n"
        "mov saved_stack(%rip), %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n");

/* A system call; an error ends the program with the number of the call. */
static long ask(long number, long a, long b, long c, long d)
{
    register long fourth __asm__("r10") = d, fifth __asm__("r8") = -1, sixth __asm__("r9") = 0;
    long result = number;
    __asm__ volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth) : "rcx", "r11", "memory");
    if (result < 0) __asm__ volatile("syscall" : : "a"(231l), "D"(number + 100));
    return result;
}

enum { WRITE = 1, MMAP = 9, MPROTECT = 10, ARCH_PRCTL = 158, EXIT_GROUP = 231 };
enum { READABLE = 1, WRITABLE = 2, EXECUTABLE = 4, SET_GS = 0x1001 };

static void map(u64 address, u64 size)
{
    enum { PRIVATE = 2, FIXED = 0x10, ANONYMOUS = 0x20, NOREPLACE = 0x100000 };
    ask(MMAP, (long)address, (long)size, READABLE | WRITABLE, PRIVATE | FIXED | ANONYMOUS | NOREPLACE);
}

static char text[8192];
static u32 text_length;

static void flush(void)
{
    if (text_length) ask(WRITE, 1, (long)text, text_length, 0);
    text_length = 0;
}

static void word(const char *name) { while (*name) text[text_length++] = *name++; }

static void number(u64 value, u32 digits)
{
    if (text_length > sizeof text - 32) flush();
    while (digits--) text[text_length++] = "0123456789abcdef"[value >> 4 * digits & 15];
}

static u64 parse(const char *digits)
{
    u64 value = 0;
    while (*digits) value = 10 * value + (u64)(*digits++ - '0');
    return value;
}

static u64 mixed(u64 hash, const u64 *words, u32 count)
{
    for (u32 i = 0; i < count; i++) hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15, hash ^= hash >> 29;
    return hash;
}

static void seed_by(u64 seed, u64 sequence, u64 purpose)
{
    u64 words[] = {seed, sequence, purpose};
    random_state = mixed(1, words, 3) | 1;
    draw(), draw();
}

/* What the first execution begins with; the others go on with the memory that it left. */
static void set_inputs(int is_first)
{
    u64 *data = (u64 *)DATA;
    if (is_first) for (u32 i = 0; i < DATA_SIZE / 8; i++) data[i] = random_state * i + (random_state >> 32);
    if (is_first) for (u32 i = 128; i < 320; i++) data[i] = draw();
    for (u32 i = 0; i < 16; i++) state.gpr[i] = immediate();
    state.gpr[R14] = DATA + BASE;
    state.flags = 0x202 | (draw() & 0x8d5);
    state.mxcsr = 0x1f80;
    for (u32 i = 0; i < 64; i++) ((u64 *)state.vectors)[i] = one_in(2) ? draw() : (u64)below(99) << 52 | draw() >> 20;
}

static u64 result(u64 hash)
{
    hash = mixed(hash, (u64 *)&state, sizeof state / 8);
    return mixed(hash, (u64 *)DATA, DATA_SIZE / 8);
}

static void show_state(void)
{
    const u64 *all = (u64 *)&state;
    word("state");
    for (u32 i = 0; i < 18 + 64; i++) word(" "), number(all[i], 16);
    word("\nmemory "), number(mixed(1, (u64 *)DATA, DATA_SIZE / 8), 16);
    word("\nstack "), number(mixed(1, state.window, WINDOW / 8), 16), word("\n");
}

static u64 run_sequence(u64 seed, u64 sequence, int is_shown)
{
    u64 hash = 1;
    entry = CODE + SLOT * (sequence % SLOTS);
    seed_by(seed, sequence, 1);
    for (u32 run = 0; run < RUNS; run++) {
        set_inputs(run == 0);
        execute();
        hash = result(hash);
        if (is_shown) show_state();
    }
    return hash;
}

static void show_code(u64 start, u32 length)
{
    word("code ");
    for (u32 i = 0; i < length; i++) number(((u8 *)start)[i], 2);
    word("\n");
}

static void run(char **arguments)
{
    static u32 lengths[SLOTS];
    u64 seed = parse(arguments[1]), first = parse(arguments[2]), batches = parse(arguments[3]);
    int is_detailed = arguments[4] != 0;
    u64 shown = is_detailed && arguments[5] ? parse(arguments[5]) : SLOTS;
    for (u64 batch = first; batch < first + batches; batch++) {
        int was_writable = is_code_writable;
        /* Two in a row: the second is written over the first without a word to the system. */
        is_code_writable = batch / 2 % 4 == 0;
        int is_silent = was_writable && is_code_writable;
        if (!is_silent) ask(MPROTECT, CODE, SLOT * SLOTS, READABLE | WRITABLE, 0);
        for (u64 i = 0; i < SLOTS; i++) {
            seed_by(seed, batch * SLOTS + i, 0);
            lengths[i] = write_sequence((u8 *)CODE + SLOT * i);
        }
        /* Code that stays writable is translated otherwise. */
        u32 protection = READABLE | EXECUTABLE | (is_code_writable ? WRITABLE : 0);
        if (!is_silent) ask(MPROTECT, CODE, SLOT * SLOTS, protection, 0);
        u64 hash = 1;
        for (u64 i = 0; i < SLOTS; i++) {
            if (i == shown) show_code(CODE + SLOT * i, lengths[i]);
            u64 one = run_sequence(seed, batch * SLOTS + i, i == shown);
            hash = mixed(hash, &one, 1);
            if (is_detailed) number(i, 3), word(" "), number(one, 16), word("\n"), flush();
        }
        number(batch, 8), word(" "), number(hash, 16), word("\n"), flush();
    }
}

__attribute__((used)) static void begin(u64 *stack)
{
    map(CODE, SLOT * SLOTS);
    map(DATA, DATA_SIZE);
    map(STACK_TOP - 65536, 65536);
    ask(ARCH_PRCTL, SET_GS, DATA, 0, 0);
    /* The arguments stay where they are. */
    __asm__ volatile("mov %%rsp, %%rbx; mov %1, %%rsp; call *%2; mov %%rbx, %%rsp"
                     : "+D"(stack) : "r"(STACK_TOP - 64), "r"(run)
                     : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
    ask(EXIT_GROUP, 0, 0, 0, 0);
}

__asm__(".globl _start\n_start: lea 8(%rsp), %rdi; and $-16, %rsp; call begin");
