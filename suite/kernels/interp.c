/* A register bytecode interpreter running a prime sieve and a collatz loop,
 * dispatched either by a switch (one indirect jump) or by computed goto (one
 * per opcode).  args: mode (0 switch, 1 computed goto), repeats */
#include "kernel.h"
enum { LDI, ADD, SUB, MULI, SHR, ANDI, JZ, JNZ, JLT, ST, LD, HALT };
struct ins { unsigned char op, a, b, c; int imm; };
/* r0 i, r1 n, r2 j, r3 tmp, r4 count, r5 one, r6 x */
static const struct ins prog[] = {
/*0*/  {LDI,0,0,0,2}, {LDI,1,0,0,60000}, {LDI,4,0,0,0}, {LDI,5,0,0,1},
/*4*/  {LD,3,0,0,0}, {JNZ,3,0,0,12},          /* composite: next i */
/*6*/  {ADD,4,4,5,0}, {ADD,2,0,0,0},          /* count++, j = 2i */
/*8*/  {JLT,2,1,0,10}, {JZ,7,0,0,12},         /* j < n ? mark : next (r7 is 0) */
/*10*/ {ST,2,5,0,0}, {JZ,7,0,0,15},
/*12*/ {ADD,0,0,5,0}, {JLT,0,1,0,4}, {JZ,7,0,0,17},
/*15*/ {ADD,2,2,0,0}, {JZ,7,0,0,8},
/*17*/ {LDI,0,0,0,1}, {LDI,1,0,0,3000},       /* collatz for i in 1..3000 */
/*19*/ {ADD,6,0,7,0},
/*20*/ {SUB,3,6,5,0}, {JZ,3,0,0,29},          /* until x == 1 */
/*22*/ {ADD,4,4,5,0}, {ANDI,3,6,0,1}, {JNZ,3,0,0,27},
/*25*/ {SHR,6,6,0,1}, {JZ,7,0,0,20},
/*27*/ {MULI,6,6,0,3}, {JZ,7,0,0,31},
/*29*/ {ADD,0,0,5,0}, {JLT,0,1,0,19},
/*31*/ {JNZ,3,0,0,33}, {HALT,0,0,0,0},        /* from 27: r3 is 1; from 30: r3 is 0 */
/*33*/ {ADD,6,6,5,0}, {JZ,7,0,0,20},
};
static long mem[60000];
static long run_switch(void)
{
    long r[8] = {0}; const struct ins *pc = prog;
    for (;;) {
        const struct ins *i = pc++;
        switch (i->op) {
        case LDI:  r[i->a] = i->imm; break;
        case ADD:  r[i->a] = r[i->b] + r[i->c]; break;
        case SUB:  r[i->a] = r[i->b] - r[i->c]; break;
        case MULI: r[i->a] = r[i->b] * i->imm; break;
        case SHR:  r[i->a] = r[i->b] >> i->imm; break;
        case ANDI: r[i->a] = r[i->b] & i->imm; break;
        case JZ:   if (!r[i->a]) pc = prog + i->imm; break;
        case JNZ:  if (r[i->a]) pc = prog + i->imm; break;
        case JLT:  if (r[i->a] < r[i->b]) pc = prog + i->imm; break;
        case ST:   mem[r[i->a]] = r[i->b]; break;
        case LD:   r[i->a] = mem[r[i->b]]; break;
        case HALT: return r[4];
        }
    }
}
static long run_goto(void)
{
    static void *const tab[] = {&&ldi, &&add, &&sub, &&muli, &&shr, &&andi, &&jz, &&jnz, &&jlt, &&st, &&ld, &&halt};
    long r[8] = {0}; const struct ins *pc = prog, *i;
#define NEXT do { i = pc++; goto *tab[i->op]; } while (0)
    NEXT;
ldi:  r[i->a] = i->imm; NEXT;
add:  r[i->a] = r[i->b] + r[i->c]; NEXT;
sub:  r[i->a] = r[i->b] - r[i->c]; NEXT;
muli: r[i->a] = r[i->b] * i->imm; NEXT;
shr:  r[i->a] = r[i->b] >> i->imm; NEXT;
andi: r[i->a] = r[i->b] & i->imm; NEXT;
jz:   if (!r[i->a]) pc = prog + i->imm; NEXT;
jnz:  if (r[i->a]) pc = prog + i->imm; NEXT;
jlt:  if (r[i->a] < r[i->b]) pc = prog + i->imm; NEXT;
st:   mem[r[i->a]] = r[i->b]; NEXT;
ld:   r[i->a] = mem[r[i->b]]; NEXT;
halt: return r[4];
}
int main(int argc, char **argv)
{
    long mode = arg(argc, argv, 1, 0), reps = arg(argc, argv, 2, 20), sum = 0;
    for (long k = 0; k < reps; k++) {
        for (int i = 0; i < 60000; i++) mem[i] = 0;
        sum += mode ? run_goto() : run_switch();
    }
    printf("interp %ld\n", sum);
    return 0;
}
