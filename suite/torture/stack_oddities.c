/* Instructions that use the stack pointer in unusual ways, pushes and calls through memory relative to it,
 * returns that match no call, and code that reads its own return address. */
#include "torture.h"

#define NAKED(name, body) long name(long a, long b); \
    __asm__(".text; .globl " #name "; " #name ":\n.intel_syntax noprefix\n" body "\n.att_syntax prefix\n")

NAKED(push_rsp, "mov rax, rsp; push rsp; pop rcx; cmp rax, rcx; sete al; movzx eax, al; ret");
NAKED(pop_rsp, "mov rdx, rsp; push rdi; mov rax, rsp; push rax; pop rsp; cmp rax, rsp; sete al; movzx eax, al; mov rsp, rdx; ret");
NAKED(pop_to_stack, "push rdi; push rsi; pop qword ptr [rsp]; pop rax; ret");               /* address after the increment */
NAKED(pop_above, "sub rsp, 16; push rdi; pop qword ptr [rsp+8]; mov rax, [rsp+8]; add rsp, 16; ret");
NAKED(push_above, "sub rsp, 8; mov [rsp], rdi; push qword ptr [rsp]; pop rax; add rsp, 8; ret"); /* before the decrement */
NAKED(push_forms, "push -5; push 0x12345678; push di; pop si; pop rax; pop rcx; add rax, rcx; ret");
NAKED(called, "lea rax, [rdi+100]; ret");
NAKED(call_above, "lea rax, called[rip]; push rax; push 0; call [rsp+8]; add rsp, 16; ret");
NAKED(call_top, "lea rax, called[rip]; push rax; call [rsp]; add rsp, 8; ret");
NAKED(call_indexed, "lea rax, called[rip]; push rax; mov ecx, 1; call [rsp+rcx*8-8]; add rsp, 8; ret");
NAKED(jump_below, "lea rax, 1f[rip]; mov [rsp-8], rax; jmp [rsp-8]; ud2; 1: lea rax, [rdi+7]; ret");
NAKED(returns_16, "mov rax, [rsp+8]; add rax, [rsp+16]; ret 16");
NAKED(call_ret_16, "mov rdx, rsp; push rdi; push rsi; call returns_16; cmp rdx, rsp; je 1f; ud2; 1: ret");
NAKED(where, "call 1f; 1: pop rax; lea rcx, 1b[rip]; sub rax, rcx; ret");                      /* old position-independent code */
NAKED(read_return, "mov rax, [rsp]; mov eax, [rax]; ret");
NAKED(reads_return, "call read_return; cmp eax, 0xabcdef01; jmp 1f; .long 0xabcdef01; 1: ret");
NAKED(skips_word, "pop rax; lea rax, [rax+4]; jmp rax");
NAKED(skip_word, "call skips_word; .long 0x0b0f0b0f; lea rax, [rdi+3]; ret");               /* data behind a call */
NAKED(push_return, "lea rax, 1f[rip]; push rax; ret; ud2; 1: lea rax, [rdi+9]; ret");
NAKED(retpoline, "lea rax, called[rip]; call 2f; jmp 4f; 2: call 3f; 1: pause; lfence; jmp 1b; 3: mov [rsp], rax; ret; 4: ret");
NAKED(double_return, "call 1f; ud2; 1: add rsp, 8; lea rax, [rdi+1]; ret");                   /* drops a frame */
NAKED(frames, "enter 32, 0; mov [rbp-8], rdi; mov rax, [rbp-8]; leave; ret");
NAKED(nested_frames, "push rbp; mov rbp, rsp; enter 16, 2; leave; pop rbp; mov rax, rdi; ret");
NAKED(swap, "lea rax, [rsp-256]; mov [rax], rdi; xchg rax, rsp; mov rcx, [rsp]; xchg rax, rsp; mov rax, rcx; ret");
NAKED(flags_on_stack, "stc; pushfq; clc; or qword ptr [rsp], 0x800; popfq; setc al; seto cl; movzx eax, al; movzx ecx, cl; lea eax, [rax+rcx*2]; ret");
NAKED(call_register_rsp, "lea rax, called[rip]; mov rdx, rsp; push rax; xchg rsp, rdx; mov rax, [rdx]; call rax; ret");
NAKED(below_limit, "mov qword ptr [rsp-8], 5; mov qword ptr [rsp-128], 6; mov rax, [rsp-8]; add rax, [rsp-128]; ret");
NAKED(prefixed_return, "lea rax, [rdi+2]; rep ret");
NAKED(bounded, "lea rax, called[rip]; .byte 0xf2; call rax; .byte 0xf2; ret");
NAKED(misaligned, "mov rdx, rsp; sub rsp, 3; call called; mov rsp, rdx; ret");
NAKED(add_to_rsp, "push rdi; push rsi; add rsp, 16; mov rax, [rsp-8]; sub rax, [rsp-16]; ret");
NAKED(call_computed, "lea rcx, 1f[rip]; lea rax, [rcx+1]; call rax; ret; 1: nop; lea rax, [rdi+11]; ret");

int main(void)
{
    for (long i = 0; i < 2000; i++) {
        CHECK(push_rsp(i, 0) == 1 && pop_rsp(i, 0) == 1);
        CHECK(pop_to_stack(i, i + 1) == i + 1);
        CHECK(pop_above(i, 0) == i && push_above(i, 0) == i);
        CHECK(push_forms(3, 0) == 0x12345678 - 5);
        CHECK(call_above(i, 0) == i + 100 && call_top(i, 0) == i + 100 && call_indexed(i, 0) == i + 100);
        CHECK(jump_below(i, 0) == i + 7);
        CHECK(call_ret_16(i, 5) == i + 5);
        CHECK(where(0, 0) == 0);
        CHECK((reads_return(0, 0) & 0xff) == 0x3d);      /* the code behind the call: cmp eax, … */
        CHECK(skip_word(i, 0) == i + 3 && push_return(i, 0) == i + 9);
        CHECK(retpoline(i, 0) == i + 100 && double_return(i, 0) == i + 1);
        CHECK(frames(i, 0) == i && nested_frames(i, 0) == i && swap(i, 0) == i);
        CHECK(flags_on_stack(0, 0) == 3);
        CHECK(call_register_rsp(i, 0) == i + 100 && below_limit(0, 0) == 11);
        CHECK(prefixed_return(i, 0) == i + 2 && bounded(i, 0) == i + 100 && misaligned(i, 0) == i + 100);
        CHECK(add_to_rsp(i, 4) == i - 4 && call_computed(i, 0) == i + 11);
    }
    return passed();
}
