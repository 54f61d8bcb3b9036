# A thousand rounds, every other one by another way, with instructions that are known to be for nothing.
    .text
    .balign 64
round:
    mov %rbx, %rax          # overwritten by the next
    mov $7, %eax
    mov %eax, 8(%rsp)
    mov 8(%rsp), %eax       # holds it already
    mov %eax, 8(%rsp)       # is there already
    mov %rsi, %rdx          # overwritten in odd rounds, read in even ones
    test $1, %cl
    jz even
    mov $3, %edx
    jmp behind
even:
    add %rdx, %rdi
behind:
    dec %ecx
    jnz round
    xor %edi, %edi
    mov $60, %eax
    syscall

    .globl _start
_start:
    mov $1000, %ecx
    sub $64, %rsp
    jmp round

    .section .note.GNU-stack, "", @progbits
