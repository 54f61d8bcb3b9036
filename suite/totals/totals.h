/* What the programs of known totals use. Their functions are written in assembly, so that their instructions are
 * known; each keeps a frame pointer and says where its caller's frame is, so that every way of unwinding works.
 *
 * Each program says at its top what its functions cost in instructions, all of its run together:
 *   total: FUNCTION N           with callees, recursion counted once
 *   loop: FUNCTION N            likewise, of the only loop of a function
 *   call: CALLER CALLEE N       under all calls of CALLEE in CALLER, where CALLER's most recent activation made them
 *   build: OPTIONS              if it needs any */
#ifndef TOTALS_H
#define TOTALS_H

#ifdef __cplusplus
#define C_NAME extern "C"
#else
#define C_NAME extern
#endif

#define FUNCTION(name, text) \
    __asm__(".text; .p2align 4; .globl " #name "; .type " #name ", @function\n" \
            #name ": .cfi_startproc\n" text ".cfi_endproc; .size " #name ", . - " #name "\n")

/* Two instructions each. */
#define ENTER "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; mov %rsp, %rbp; .cfi_def_cfa_register %rbp\n"
#define LEAVE "pop %rbp; .cfi_def_cfa %rsp, 8; ret\n"

/* Three and two: for a function that counts in rbx. */
#define ENTER_COUNTING(rounds) ENTER "push %rbx; .cfi_offset %rbx, -24; mov $" #rounds ", %ebx\n"
#define LEAVE_COUNTING "pop %rbx\n" LEAVE

/* work(n), n > 0: 2 n + 5 instructions, a round in each cycle. */
#define WORK(name) \
    C_NAME void name(long n); \
    FUNCTION(name, ENTER "mov %rdi, %rax\n 1: dec %rax; jnz 1b\n" LEAVE)

#endif
