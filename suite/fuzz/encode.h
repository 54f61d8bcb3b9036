/* Writing instructions: bytes, registers and operands of random kinds. */
#ifndef ENCODE_H
#define ENCODE_H
#include <stdint.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

/* Where everything lies: the same in every run, and low enough for absolute addresses of 32 bits. */
#define CODE 0x20000000ul       /* SLOTS sequences of SLOT bytes */
#define DATA 0x21000000ul       /* what sequences read and write, DATA_SIZE bytes around r14 */
#define STACK_TOP 0x22100000ul
enum { SLOT = 2048, SLOTS = 512, DATA_SIZE = 4096, BASE = 1536 };

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R14 = 14, R15 };

static u8 *at;                  /* where the next byte goes */
static u64 random_state;

static u64 draw(void)           /* Marsaglia: Xorshift RNGs, with a multiplication for the low bits */
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1dul;
}

static u32 below(u32 limit) { return (u32)((draw() >> 32) * limit >> 32); }
static int one_in(u32 times) { return below(times) == 0; }

static void byte(u32 value) { *at++ = (u8)value; }
static void bytes(u32 count, u64 value) { for (; count--; value >>= 8) *at++ = (u8)value; }

/* A register that may be written: not the stack pointer, nor those that bound memory and loops. */
static u32 target(void)
{
    u32 r = below(13);
    return r < RSP ? r : r + 1;
}

static u32 source(void) { return below(16); }

/* An immediate: often one at which flags change. */
static u64 immediate(void)
{
    static const u64 edges[] = {0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0x7fffffff, 0x80000000, ~0ul, ~1ul};
    return one_in(2) ? edges[below(12)] : draw();
}

/* Operand sizes in bytes, the usual ones more often. */
static u32 operand_size(void)
{
    static const u8 sizes[] = {1, 2, 4, 4, 4, 8, 8, 8};
    return sizes[below(8)];
}

/* The second operand of an instruction. */
struct operand {
    enum { REGISTER, DISPLACED, INDEXED, RELATIVE, ABSOLUTE, RED_ZONE, SEGMENT, SEGMENT_INDEXED } kind;
    u32 reg, index, scale, place;
};

static struct operand in_register(u32 reg) { return (struct operand){.kind = REGISTER, .reg = reg}; }

/* In memory; an index is made small by an instruction that leaves flags alone. */
static struct operand in_memory(void)
{
    struct operand o = {.kind = DISPLACED + below(7), .place = below(1024)};
    if (o.kind == INDEXED || o.kind == SEGMENT_INDEXED) {
        o.index = target();
        o.scale = below(3);
        byte(0x40 | (o.index >> 3) * 5), byte(0x0f), byte(0xb6), byte(0xc0 | (o.index & 7) * 9);   /* movzx */
    }
    return o;
}

static struct operand any_operand(void) { return one_in(2) ? in_memory() : in_register(source()); }
static struct operand any_target(void) { return one_in(2) ? in_memory() : in_register(target()); }

/* Prefixes, opcode (up to three bytes, the last one the lowest), operands. `size` 2 has the prefix 66, 8 has REX.W;
 * `mandatory` is the prefix that belongs to the opcode or 0; `extra` bytes of immediate will follow. */
static void instruction(u32 mandatory, u32 size, u32 opcode, u32 reg, struct operand o, u32 extra)
{
    u32 base = o.kind == REGISTER ? o.reg : o.kind == DISPLACED || o.kind == INDEXED ? R14 : 0;
    u32 index = o.kind == INDEXED || o.kind == SEGMENT_INDEXED ? o.index : 0;
    u32 rex = (size == 8) << 3 | (reg >> 3) << 2 | (index >> 3) << 1 | base >> 3;
    /* Without the prefix, byte registers 4 to 7 are the high ones. */
    int is_high = size == 1 && one_in(4);
    if (o.kind >= SEGMENT) byte(0x65);
    if (size == 2) byte(0x66);
    if (mandatory) byte(mandatory);
    if (rex || (size == 1 && !is_high)) byte(0x40 | rex);
    if (opcode > 0xffff) byte(opcode >> 16);
    if (opcode > 0xff) byte(opcode >> 8);
    byte(opcode);
    reg = (reg & 7) << 3;
    switch (o.kind) {
    case REGISTER: byte(0xc0 | reg | (o.reg & 7)); break;
    case DISPLACED:
        if (one_in(2)) byte(0x40 | reg | 6), byte(o.place & 0x7f);
        else byte(0x80 | reg | 6), bytes(4, o.place - 512ul);
        break;
    case INDEXED: byte(0x84 | reg), byte(o.scale << 6 | (index & 7) << 3 | 6), bytes(4, o.place); break;
    case RELATIVE: byte(0x05 | reg), bytes(4, DATA + o.place - ((u64)at + 4 + extra)); break;
    case ABSOLUTE: byte(0x04 | reg), byte(0x25), bytes(4, DATA + o.place); break;
    case RED_ZONE: byte(0x44 | reg), byte(0x24), byte(-64 - (int)(o.place & 63)); break;
    case SEGMENT: byte(0x04 | reg), byte(0x25), bytes(4, o.place); break;
    case SEGMENT_INDEXED: byte(0x04 | reg), byte(o.scale << 6 | (index & 7) << 3 | 5), bytes(4, o.place); break;
    }
}

/* A three-byte VEX prefix, opcode and operands in registers, as `map` 1 (0f), 2 (0f38) or 3 (0f3a). */
static void vex(u32 map, u32 pp, u32 wide, u32 large, u32 opcode, u32 reg, u32 second, u32 third)
{
    byte(0xc4), byte((~reg >> 3 & 1) << 7 | 1 << 6 | (~third >> 3 & 1) << 5 | map);
    byte(wide << 7 | (~second & 15) << 3 | large << 2 | pp);
    byte(opcode), byte(0xc0 | (reg & 7) << 3 | (third & 7));
}
#endif
