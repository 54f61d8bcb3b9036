/* Assembler as many write it: without a word on how to find the caller. */
    .text
    .globl assembler_leaf
    .type assembler_leaf, @function
assembler_leaf:
1:  dec %rdi
    jnz 1b
    ret
    .size assembler_leaf, . - assembler_leaf

    .globl assembler_framed
    .type assembler_framed, @function
assembler_framed:
    push %rbp
    mov %rsp, %rbp
    call *%rdi
    pop %rbp
    ret
    .size assembler_framed, . - assembler_framed

    .section .note.GNU-stack, "", @progbits
