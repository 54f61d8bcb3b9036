/* The grammar of sequences: forms of instructions, and how they are put together. What a processor leaves undefined
 * stays out where runs could differ by it, and so does what faults. */
#ifndef GRAMMAR_H
#define GRAMMAR_H
#include "encode.h"

static u8 *room_end;            /* nothing new is begun behind it */
static u32 calls_allowed;       /* routines that may still be called from here: no recursion */
static struct { u8 *from; u32 routine; } fixups[64];
static u32 fixup_count;
static int is_code_writable;

static void item(u32 depth);
static void items(u32 count, u32 depth) { while (count-- && at < room_end) item(depth); }

static void arithmetic(void)
{
    u32 size = operand_size(), op = below(8), wide = size > 1;
    if (one_in(3)) {
        struct operand o = op == 7 ? any_operand() : any_target();
        u32 is_short = wide && one_in(2), length = size == 1 || is_short ? 1 : size == 2 ? 2 : 4;
        if (op != 7 && o.kind != REGISTER && one_in(6)) byte(0xf0);
        instruction(0, size, is_short ? 0x83 : 0x80 | wide, op, o, length);
        bytes(length, immediate());
    } else if (one_in(2)) {
        struct operand o = op == 7 ? any_operand() : any_target();
        if (op != 7 && o.kind != REGISTER && one_in(6)) byte(0xf0);
        instruction(0, size, op << 3 | wide, source(), o, 0);
    } else {
        struct operand o = any_operand();
        instruction(0, size, op << 3 | 2 | wide, op == 7 ? source() : target(), o, 0);
    }
}

static void unary(void)
{
    u32 size = operand_size(), wide = size > 1, op = below(7);
    struct operand o = any_target();
    if (op < 2) {
        instruction(0, size, 0xfe | wide, op, o, 0);                            /* inc, dec */
    } else if (op == 2) {
        u32 length = size == 1 ? 1 : size == 2 ? 2 : 4;
        instruction(0, size, 0xf6 | wide, 0, o, length), bytes(length, immediate());    /* test */
    } else {
        instruction(0, size, 0xf6 | wide, op - 1, o, 0);                        /* not, neg, mul, imul */
    }
}

static void divide(void)
{
    u32 size = one_in(2) ? 4 : 8;
    instruction(0, 4, 0x31, RDX, in_register(RDX), 0);                          /* xor edx, edx */
    instruction(0, size, 0x83, 1, in_register(RCX), 1), byte(1);                /* or rcx, 1 */
    instruction(0, size, 0xf7, 6, in_register(RCX), 0);                         /* div rcx */
}

static void shift(void)
{
    u32 size = operand_size(), wide = size > 1, op = below(8);
    struct operand o = any_target();
    switch (below(3)) {
    case 0: instruction(0, size, 0xc0 | wide, op, o, 1), byte(below(70)); break;
    case 1: instruction(0, size, 0xd0 | wide, op, o, 0); break;
    default: instruction(0, size, 0xd2 | wide, op, o, 0); break;
    }
}

static void move(void)
{
    u32 size = operand_size(), wide = size > 1, to = target();
    struct operand o = any_operand(), into = any_target();
    switch (below(12)) {
    case 0: instruction(0, size, 0x88 | wide, source(), into, 0); break;
    case 1: instruction(0, size, 0x8a | wide, to, o, 0); break;
    case 2: byte(0x48 | to >> 3), byte(0xb8 | (to & 7)), bytes(8, immediate()); break;
    case 3: instruction(0, 4, 0xc7, 0, into, 4), bytes(4, immediate()); break;
    case 4: instruction(0, one_in(2) ? 4 : 8, 0x0fb6 + below(2) + 8 * below(2), to, o, 0); break; /* movzx, movsx */
    case 5: instruction(0, 8, 0x63, to, o, 0); break;
    case 6: instruction(0, size, 0x86 | wide, to, into, 0); break;              /* xchg */
    case 7: instruction(0, size, 0x0fb0 | wide, source(), into, 0); break;      /* cmpxchg */
    case 8: instruction(0, size, 0x0fc0 | wide, to, into, 0); break;            /* xadd */
    case 9: byte(0x48 | to >> 3), byte(0x0f), byte(0xc8 | (to & 7)); break;     /* bswap */
    case 10: byte(0x4a | (to >> 3) << 2), byte(0x8d), byte(0x84 | (to & 7) << 3), byte(below(256) & 0xff & ~7),
             bytes(4, draw()); break;                                           /* lea to, [rax+r*s+d] */
    default: byte(one_in(2) ? 0x98 : 0x99); break;                              /* cwde, cdq */
    }
}

static void by_condition(void)
{
    u32 condition = below(16);
    struct operand o = any_operand(), into = any_target();
    if (one_in(2)) instruction(0, 1, 0x0f90 | condition, 0, into, 0);           /* set */
    else instruction(0, 2u << below(3), 0x0f40 | condition, target(), o, 0);    /* cmov */
}

static void more_bits(u32 size, u32 to, struct operand o)
{
    u32 other = to == RAX ? RBX : RAX;
    switch (below(7)) {
    case 0: vex(2, 0, size == 8, 0, 0xf2, to, source(), source()); break;       /* andn */
    case 1: vex(2, 3, size == 8, 0, 0xf6, to, other, source()); break;          /* mulx */
    case 2: vex(3, 3, size == 8, 0, 0xf0, to, 0, source()), byte(below(64)); break;     /* rorx */
    case 3: vex(2, 2 + below(2), size == 8, 0, 0xf5, to, source(), source()); break;    /* pext, pdep */
    case 4: instruction(0x66 + 0x8d * below(2), size, 0x0f38f6, to, o, 0); break;       /* adcx, adox */
    case 5: instruction(0xf2, size, 0x0f38f1, to, o, 0); break;                 /* crc32 */
    default:
        instruction(0, size, 0x0fc7, 1, (struct operand){.kind = ABSOLUTE, .place = 16 * below(60)}, 0);
        break;                                                                  /* cmpxchg8b, cmpxchg16b */
    }
}

static void bits(void)
{
    static const u32 tests[] = {0x0fa3, 0x0fab, 0x0fb3, 0x0fbb};
    u32 size = one_in(2) ? 4 : 8, to = target();
    struct operand o = any_operand(), into = any_target();
    switch (below(7)) {
    case 0: instruction(0, size, 0x0fba, 4 + below(4), into, 1), byte(below(64)); break;
    case 1: instruction(0, size, tests[below(4)], source(), in_register(target()), 0); break;
    case 2: instruction(0, size, 0x0fbc + below(2), to, o, 0); break;           /* bsf, bsr */
    case 3: instruction(0xf3, size, one_in(3) ? 0x0fb8 : 0x0fbc + below(2), to, o, 0); break;
    case 4: vex(2, 1 + below(3), size == 8, 0, 0xf7, to, source(), source()); break;    /* shlx, sarx, shrx */
    default: more_bits(size, to, o); break;
    }
}

static void flags(void)
{
    static const u8 simple[] = {0x9f, 0x9e, 0xf5, 0xf8, 0xf9, 0xfc, 0xfd};      /* lahf sahf cmc clc stc cld std */
    u32 r = target();
    switch (below(4)) {
    case 0: byte(0x9c), byte(0x40 | r >> 3), byte(0x58 | (r & 7)); break;       /* pushf; pop */
    case 1:
        /* None but the arithmetic flags and the direction may be set. */
        instruction(0, 4, 0x81, 4, in_register(r), 4), bytes(4, 0xcd5);
        instruction(0, 4, 0x83, 1, in_register(r), 1), byte(2);
        byte(0x40 | r >> 3), byte(0x50 | (r & 7)), byte(0x9d);
        break;
    default: byte(simple[below(7)]); break;
    }
}

static void push_register(u32 r) { byte(0x40 | r >> 3), byte(0x50 | (r & 7)); }
static void pop_register(u32 r) { byte(0x40 | r >> 3), byte(0x58 | (r & 7)); }

static void stack(u32 depth)
{
    if (one_in(4)) {
        byte(0x55), byte(0x48), byte(0x89), byte(0xe5);                         /* push rbp; mov rbp, rsp */
        instruction(0, 8, 0x83, 5, in_register(RSP), 1), byte(8 * below(8));    /* sub rsp, n */
        instruction(0, 8, 0x89, source(), (struct operand){.kind = RED_ZONE}, 0);
        byte(0xc9);                                                             /* leave */
        return;
    }
    if (one_in(4)) {
        u32 r = source();
        byte(0x66), byte(0x40 | r >> 3), byte(0x50 | (r & 7));                  /* 16 bits */
        if (one_in(2)) byte(0x66), byte(0x9c), byte(0x66), byte(0x59);          /* pushf; pop cx */
        byte(0x66), byte(0x5a);
        return;
    }
    if (one_in(4)) {
        struct operand o = in_memory();
        push_register(source()), push_register(source());
        if (o.kind != REGISTER && o.kind < SEGMENT) instruction(0, 4, 0x8f, 0, o, 0);
        else pop_register(RDX);
        byte(0x8f), byte(0x44), byte(0x24), byte(-8 - 8 * (int)below(7));       /* pop [rsp-n] */
        return;
    }
    if (one_in(4)) {
        byte(0xc8), bytes(2, 8 * below(9)), byte(0), byte(0xc9);                /* enter; leave */
        return;
    }
    u32 count = 1 + below(3);
    for (u32 i = 0; i < count; i++) {
        if (one_in(4)) byte(0x68), bytes(4, immediate());
        else if (one_in(4)) instruction(0, 4, 0xff, 6, in_memory(), 0);
        else push_register(source());
    }
    items(below(3), depth + 1);
    for (u32 i = 0; i < count; i++) pop_register(target());
}

static void string(void)
{
    static const u8 operations[] = {0xa4, 0xa6, 0xaa, 0xac, 0xae};              /* movs cmps stos lods scas */
    u32 operation = operations[below(5)];
    byte(0x49), byte(0x8d), byte(0xb6), bytes(4, below(1024) - 512ul);          /* lea rsi, [r14+d] */
    byte(0x49), byte(0x8d), byte(0xbe), bytes(4, below(1024) - 512ul);          /* lea rdi, [r14+d] */
    byte(0xb9), bytes(4, below(9));                                             /* mov ecx, n */
    if (one_in(3)) byte(0xfc + below(2));
    u32 size = below(4);
    if (size == 1) byte(0x66);
    if (!one_in(3)) byte(0xf2 + below(2));
    if (size == 3) byte(0x48);
    byte(operation | (size > 0));
}

static void vector(void)
{
    static const u8 integer[] = {0xfc, 0xfd, 0xfe, 0xd4, 0xef, 0xdb, 0xeb, 0xf8, 0xfa, 0x74, 0x76, 0x60, 0xf4, 0x66};
    static const u8 real[] = {0x58, 0x59, 0x5c, 0x5e, 0x5d, 0x5f, 0x51};
    u32 to = below(16), other = below(16), opcode = integer[below(14)];
    struct operand m = in_memory(), v = in_register(other);
    switch (below(10)) {
    case 0: instruction(0xf3, 4, 0x0f6f, to, m, 0); break;                      /* movdqu */
    case 1: instruction(0xf3, 4, 0x0f7f, to, m, 0); break;
    case 2: instruction(0x66, one_in(2) ? 4 : 8, 0x0f6e, to, in_register(source()), 0); break;
    case 3: instruction(0x66, one_in(2) ? 4 : 8, 0x0f7e, to, in_register(target()), 0); break;
    case 4: instruction(0x66, 4, 0x0fd7, target(), v, 0); break;                /* pmovmskb */
    case 5: instruction(0x66, 4, 0x0f2e, to, one_in(2) ? m : v, 0); break;      /* ucomisd */
    case 6: instruction(0xf2, 4, 0x0f00 | real[below(7)], to, one_in(2) ? m : v, 0); break;
    case 7: instruction(0xf2, 8, one_in(2) ? 0x0f2a : 0x0f2c, target(), in_register(target()), 0); break;
    case 8: vex(1, 1, 0, one_in(2), opcode, to, below(16), other); break;
    default: instruction(0x66, 4, 0x0f00 | opcode, to, v, 0); break;
    }
}

/* A branch over some items, or round a loop. */
static void branch(u32 depth)
{
    u32 way = below(8);
    if (way < 2 && depth == 0) {
        byte(0x41), byte(0xbf), bytes(4, 1 + below(6));                         /* mov r15d, n */
        u8 *head = at;
        items(1 + below(4), 1);
        if (way == 0) instruction(0, 4, 0xff, 1, in_register(R15), 0);          /* dec: carry stays */
        else instruction(0, 4, 0x83, 5, in_register(R15), 1), byte(1);
        byte(0x0f), byte(0x85), bytes(4, (u64)(head - at) - 4);
        return;
    }
    u32 length = way < 5 ? 1 : 4;
    if (way == 2) byte(0x70 | below(16));                                       /* short ones */
    else if (way < 5) byte(one_in(4) ? 0xeb : 0xe0 + below(4));                 /* jmp, loopne, loope, loop, jrcxz */
    else if (way == 5) byte(0xe9);
    else byte(0x0f), byte(0x80 | below(16));
    u8 *hole = at;
    bytes(length, 0);
    if (length == 4) items(below(4), depth + 1);
    else while (at - hole < 60 && !one_in(3)) byte(0x0f), byte(0x90 | below(16)), byte(0xc0 | below(4));
    u64 distance = (u64)(at - hole) - length;
    for (u32 i = 0; i < length; i++) hole[i] = (u8)(distance >> 8 * i);
}

/* An indirect jump to one of two places, or a return used as a jump. */
static void computed(u32 depth)
{
    u32 r = target(), other = target(), condition = below(16), way = below(3);
    if (other == r) other = r == RAX ? RCX : RAX;
    byte(0x48 | (r >> 3) << 2), byte(0x8d), byte(0x05 | (r & 7) << 3);          /* lea r, [rip+first] */
    u8 *first = at;
    bytes(4, 0);
    byte(0x48 | (other >> 3) << 2), byte(0x8d), byte(0x05 | (other & 7) << 3);  /* lea other, [rip+second] */
    u8 *second = at;
    bytes(4, 0);
    instruction(0, 8, 0x0f40 | condition, r, in_register(other), 0);
    if (way == 0) {
        push_register(r), byte(0xc3);
    } else if (way == 1) {
        instruction(0, 8, 0x89, r, (struct operand){.kind = ABSOLUTE, .place = 16}, 0);
        instruction(0, 4, 0xff, 4, (struct operand){.kind = below(2) ? RELATIVE : ABSOLUTE, .place = 16}, 0);
    } else {
        instruction(0, 4, 0xff, 4, in_register(r), 0);
    }
    u64 distance = (u64)(at - first) - 4;
    for (u32 i = 0; i < 4; i++) first[i] = (u8)(distance >> 8 * i);
    items(below(3), depth + 1);
    distance = (u64)(at - second) - 4;
    for (u32 i = 0; i < 4; i++) second[i] = (u8)(distance >> 8 * i);
}

/* A call of a routine that is written later, directly, by register or through memory; with as many arguments as its
 * number, which it takes off the stack. */
static void call(void)
{
    if (calls_allowed == 0 || fixup_count == 64) return;
    u32 routine = below(calls_allowed), r = target(), way = below(3);
    for (u32 i = 0; i < routine; i++) push_register(source());
    if (way == 0) {
        byte(0xe8);
        fixups[fixup_count].from = at, fixups[fixup_count++].routine = routine, bytes(4, 0);
        return;
    }
    byte(0x48 | (r >> 3) << 2), byte(0x8d), byte(0x05 | (r & 7) << 3);
    fixups[fixup_count].from = at, fixups[fixup_count++].routine = routine, bytes(4, 0);
    if (way == 2) {
        instruction(0, 8, 0x89, r, (struct operand){.kind = ABSOLUTE, .place = 8}, 0);
        instruction(0, 4, 0xff, 2, (struct operand){.kind = RELATIVE, .place = 8}, 0);
    } else {
        instruction(0, 4, 0xff, 2, in_register(r), 0);
    }
}

static void floating(void)
{
    struct operand from = in_memory(), to = in_memory();
    instruction(0, 4, 0xdd, 0, from, 0);                                        /* fld */
    byte(0xd9), byte(one_in(2) ? 0xe8 : 0xeb);                                  /* fld1, fldpi */
    if (one_in(2)) byte(0xdb), byte(0xf1);                                      /* fcomi */
    byte(0xde), byte(0xc1 | below(2) << 3);                                     /* faddp, fmulp */
    instruction(0, 4, 0xdd, 3, to, 0);                                          /* fstp */
}

/* Code that is changed before it runs, where it may be: a constant, or an instruction. */
static void patch(void)
{
    static const u8 replacements[] = {0x90, 0xf5, 0xf8, 0xf9, 0x99, 0x98};
    if (!is_code_writable) return;
    u32 r = target();
    if (one_in(2)) {
        byte(0x40 | (r >> 3) << 2), byte(0x89), byte(0x05 | (r & 7) << 3), bytes(4, 3);     /* mov [rip+3], r */
        byte(0xeb), byte(0), byte(0xb8 | below(4)), bytes(4, immediate());
    } else {
        byte(0xc6), byte(0x05), bytes(4, 2), byte(replacements[below(6)]);      /* mov byte [rip+2], n */
        byte(0xeb), byte(0), byte(replacements[below(6)]);
    }
}

static void oddity(void)
{
    static const u8 nops[] = {0x90, 0x66, 0x90, 0xf3, 0x90, 0x0f, 0x1f, 0x00};
    switch (below(6)) {
    case 3: floating(); break;
    case 4: patch(); break;
    case 5: byte(0x49), byte(0x8d), byte(0x5e), byte(0), byte(0xd7); break;     /* lea rbx, [r14]; xlat */
    case 0: for (u32 i = 0; i < 8; i++) byte(nops[i]); break;
    case 1: byte(0xb8), bytes(4, 0x3fff), byte(0x0f), byte(0x05); break;        /* a system call that is none */
    default: byte(0xe8), bytes(4, 0), pop_register(target()); break;            /* call next; pop */
    }
}

static void item(u32 depth)
{
    u32 way = below(depth < 3 ? 40 : 31);
    if (way < 7) arithmetic();
    else if (way < 10) unary();
    else if (way < 11) divide();
    else if (way < 14) shift();
    else if (way < 18) move();
    else if (way < 21) by_condition();
    else if (way < 24) bits();
    else if (way < 26) flags();
    else if (way < 27) string();
    else if (way < 29) vector();
    else if (way < 31) oddity();
    else if (way < 33) stack(depth);
    else if (way < 36) branch(depth);
    else if (way < 38) call();
    else computed(depth);
}

/* Writes a sequence into the slot at `slot`: a body and routines that it calls. Gives its length. */
static u32 write_sequence(u8 *slot)
{
    enum { ROUTINES = 3 };
    u8 *routines[ROUTINES];
    at = slot, fixup_count = 0;
    room_end = slot + SLOT / 2;
    calls_allowed = ROUTINES;
    items(4 + below(14), 0);
    byte(0xc3);
    room_end = slot + SLOT - 400;
    for (u32 routine = ROUTINES; routine-- > 0;) {
        routines[routine] = at;
        calls_allowed = routine;
        items(1 + below(4), 1);
        if (routine) byte(0xc2), bytes(2, 8 * routine);
        else byte(0xc3);
    }
    for (u32 i = 0; i < fixup_count; i++) {
        u64 distance = (u64)(routines[fixups[i].routine] - fixups[i].from) - 4;
        for (u32 b = 0; b < 4; b++) fixups[i].from[b] = (u8)(distance >> 8 * b);
    }
    return (u32)(at - slot);
}
#endif
