# The program of suite/kernels/fig1.c, with the slow load as the last instruction before the header of
# the inner loop. Arguments: rounds of the outer loop. The table has 64 MiB, a cache line a slot, and is
# one cycle: slot i holds (i * 1664525 + 1013904223) mod 2^20, a generator of full period.
        .intel_syntax noprefix
        .globl  main
        .type   main, @function
main:   push    rbx
        push    rbp
        sub     rsp, 8
        mov     rdi, [rsi+8]
        call    atol@PLT
        mov     rbp, rax
        mov     edi, 0x4000000
        call    malloc@PLT
        mov     rbx, rax
        xor     ecx, ecx
.Lfill: imul    eax, ecx, 1664525
        add     eax, 1013904223
        and     eax, 0xfffff
        mov     rdx, rcx
        shl     rdx, 6
        mov     [rbx+rdx], rax
        inc     ecx
        cmp     ecx, 0x100000
        jne     .Lfill
        xor     esi, esi
        xor     edi, edi
        mov     edx, 1
.Louter:
        shl     rsi, 6
        xor     eax, eax
        mov     rsi, [rbx+rsi]
.Linner:
        mov     rcx, rsi
        xor     rcx, rax
        add     rdx, rcx
        inc     rax
        cmp     rax, 256
        jne     .Linner
        inc     rdi
        cmp     rdi, rbp
        jne     .Louter
        add     rsp, 8
        pop     rbp
        pop     rbx
        xor     eax, eax
        ret
        .size   main, . - main
        .section .note.GNU-stack, "", @progbits
