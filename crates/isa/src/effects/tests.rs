//! What instructions do, against the manuals.

extern crate std;

use super::*;
use std::vec::Vec;

fn of(bytes: &[u8]) -> Effects {
    effects(bytes, 0x1000)
}

fn numbers(set: Storages) -> Vec<u8> {
    set.without(Storages::FLAGS).iter().collect()
}

#[test]
fn registers_of_32_bits_are_overwritten_and_smaller_ones_are_not() {
    let mov = of(&[0x89, 0xd8]); // mov eax,ebx
    assert_eq!(
        (numbers(mov.reads), numbers(mov.writes), numbers(mov.overwrites)),
        ([3].into(), [0].into(), [0].into())
    );
    let byte = of(&[0x88, 0xd8]); // mov al,bl
    assert_eq!((numbers(byte.writes), numbers(byte.overwrites)), ([0].into(), [].into()));
    let high = of(&[0xb4, 1]); // mov ah,1
    assert_eq!((numbers(high.writes), numbers(high.overwrites)), ([0].into(), [].into()));
    let conditional = of(&[0x0f, 0x44, 0xc3]); // cmove eax,ebx
    assert!(conditional.reads.contains(0) && conditional.reads.contains(3));
    let search = of(&[0x0f, 0xbc, 0xc3]); // bsf eax,ebx: nothing is written if ebx is zero
    assert!(search.reads.contains(0) && !search.overwrites.contains(0));
}

#[test]
fn flags_are_storages_of_their_own() {
    let inc = of(&[0x48, 0xff, 0xc0]); // inc rax
    assert_eq!(inc.overwrites.intersection(Storages::FLAGS).iter().count(), 5);
    let shift = of(&[0x48, 0xd3, 0xe0]); // shl rax,cl
    assert!(shift.writes.intersects(Storages::FLAGS) && !shift.overwrites.intersects(Storages::FLAGS));
    assert!(!of(&[0x48, 0x89, 0xd8]).writes.intersects(Storages::FLAGS)); // mov rax,rbx
}

#[test]
fn old_encodings_keep_upper_parts() {
    let (lower, upper) = (16, 48);
    let old = of(&[0x0f, 0x28, 0xc1]); // movaps xmm0,xmm1
    assert!(old.overwrites.contains(lower) && !old.writes.contains(upper));
    let new = of(&[0xc5, 0xf8, 0x28, 0xc1]); // vmovaps xmm0,xmm1
    assert!(new.overwrites.contains(lower) && new.overwrites.contains(upper));
    let scalar = of(&[0xf2, 0x0f, 0x10, 0xc1]); // movsd xmm0,xmm1
    assert!(scalar.reads.contains(lower), "{scalar:?}");
    for half in [&[0x0f, 0x12, 0x03][..], &[0x0f, 0x16, 0x03], &[0x0f, 0x12, 0xc1], &[0x0f, 0x16, 0xc1]] {
        assert!(of(half).reads.contains(lower), "{half:x?}"); // movlps, movhps, movhlps, movlhps
    }
    let converted = of(&[0xf2, 0x0f, 0x2a, 0xc0]); // cvtsi2sd xmm0,eax
    assert!(converted.reads.contains(lower) && converted.nature == Nature::Fixed);
}

#[test]
fn natures() {
    let nature = |bytes: &[u8]| of(bytes).nature;
    assert_eq!(nature(&[0x48, 0x01, 0xd8]), Nature::Pure); // add rax,rbx
    assert_eq!(nature(&[0x89, 0x03]), Nature::Pure); // mov [rbx],eax
    assert_eq!(nature(&[0xf0, 0x01, 0x03]), Nature::Barrier); // lock add [rbx],eax
    assert_eq!(nature(&[0x87, 0x03]), Nature::Barrier); // xchg [rbx],eax
    assert_eq!(nature(&[0x87, 0xd8]), Nature::Pure); // xchg eax,ebx
    assert_eq!(nature(&[0xe8, 0, 0, 0, 0]), Nature::Barrier); // call
    assert_eq!(nature(&[0xc3]), Nature::Barrier); // ret
    assert_eq!(nature(&[0x0f, 0x05]), Nature::Barrier); // syscall
    assert_eq!(nature(&[0xf3, 0xa4]), Nature::Barrier); // rep movsb
    assert_eq!(nature(&[0x0f, 0xae, 0xf0]), Nature::Barrier); // mfence
    assert_eq!(nature(&[0x74, 0]), Nature::Fixed); // je
    assert_eq!(nature(&[0x48, 0xf7, 0xf1]), Nature::Fixed); // div rcx
    assert_eq!(nature(&[0x0f, 0x1f, 0]), Nature::Idle); // nop
    assert_eq!(nature(&[0x48, 0x8d, 0x36]), Nature::Idle); // lea rsi,[rsi]
    assert_eq!(nature(&[0x8e, 0xd8]), Nature::Barrier); // mov ds,eax
    assert_eq!(nature(&[0x06]), Nature::Barrier); // no instruction
    assert_eq!(nature(&[0x0f, 0xab, 0x03]), Nature::Barrier); // bts [rbx],eax
    assert_eq!(nature(&[0xa5]), Nature::Barrier); // movsd of strings
    assert_eq!(nature(&[0xf2, 0x0f, 0x10, 0x03]), Nature::Pure); // movsd xmm0,[rbx]
}

#[test]
fn what_writes_the_stack_pointer_does_more_than_that() {
    for bytes in [
        &[0x48, 0x81, 0xec, 0x38, 1, 0, 0][..], // sub rsp,0x138
        &[0x48, 0x29, 0xc4],                    // sub rsp,rax
        &[0x48, 0x83, 0xc4, 8],                 // add rsp,8
        &[0x48, 0x89, 0xec],                    // mov rsp,rbp
        &[0x4c, 0x89, 0xc4],                    // mov rsp,r8
        &[0x48, 0x8b, 0x20],                    // mov rsp,[rax]
        &[0x48, 0x8d, 0x64, 0x24, 8],           // lea rsp,[rsp+8]
        &[0x48, 0x83, 0xe4, 0xf0],              // and rsp,-16
        &[0x83, 0xec, 8],                       // sub esp,8
        &[0x48, 0x94],                          // xchg rax,rsp
        &[0x48, 0x0f, 0x44, 0xe0],              // cmove rsp,rax
        &[0x5c],                                // pop rsp
        &[0xc9],                                // leave
    ] {
        let effects = of(bytes);
        assert!(effects.writes.contains(STACK_POINTER), "{bytes:x?}");
        assert_eq!(effects.nature, Nature::Fixed, "{bytes:x?}");
    }
    assert_eq!(of(&[0x48, 0x39, 0xc4]).nature, Nature::Pure); // cmp rsp,rax
}

#[test]
fn frame_pointers_are_for_others() {
    for bytes in [
        &[0x48, 0x89, 0xe5][..],       // mov rbp,rsp
        &[0x49, 0x89, 0xe2],           // mov r10,rsp
        &[0x48, 0x8d, 0x6c, 0x24, 16], // lea rbp,[rsp+16]
    ] {
        assert_eq!(of(bytes).nature, Nature::Fixed, "{bytes:x?}");
    }
    for bytes in [
        &[0x89, 0xe0][..],             // mov eax,esp
        &[0x48, 0x89, 0x20],           // mov [rax],rsp
        &[0x48, 0x8d, 0x7c, 0x24, 16], // lea rdi,[rsp+16]
    ] {
        assert_eq!(of(bytes).nature, Nature::Pure, "{bytes:x?}");
    }
}

#[test]
fn what_is_read_for_addresses_alone() {
    let of = |bytes: &[u8]| numbers(of(bytes).only_in_addresses);
    assert_eq!(of(&[0x48, 0x03, 0x04, 0x8b]), [1, 3]); // add rax,[rbx+rcx*4]
    assert_eq!(of(&[0x48, 0xf7, 0x20]), []); // mul qword [rax]
    assert_eq!(of(&[0x48, 0xf7, 0x23]), [3]); // mul qword [rbx]
    assert_eq!(of(&[0x48, 0xf7, 0x3a]), []); // idiv qword [rdx]
    assert_eq!(of(&[0xc4, 0xe2, 0xf3, 0xf6, 0x02]), []); // mulx rax,rcx,[rdx]
    assert_eq!(of(&[0xd3, 0x21]), []); // shl dword [rcx],cl
    assert_eq!(of(&[0x48, 0x01, 0x00]), []); // add [rax],rax
    assert_eq!(of(&[0xc9]), []); // leave
}

#[test]
fn what_another_register_could_stand_for() {
    let of = |bytes: &[u8]| numbers(of(bytes).replaceable);
    assert_eq!(of(&[0x48, 0x89, 0xd8]), [3]); // mov rax,rbx
    assert_eq!(of(&[0x48, 0x01, 0xd8]), [3]); // add rax,rbx
    assert_eq!(of(&[0x48, 0x8b, 0x00]), [0]); // mov rax,[rax]
    assert_eq!(of(&[0x48, 0xd3, 0xe0]), []); // shl rax,cl
    assert_eq!(of(&[0x48, 0xf7, 0xe1]), [1]); // mul rcx
    assert_eq!(of(&[0x99]), []); // cdq
    assert_eq!(of(&[0x48, 0x01, 0x1c, 0x88]), [0, 1, 3]); // add [rax+rcx*4],rbx
}

#[test]
fn pushes_and_pops_move_values() {
    let push = of(&[0x53]);
    assert_eq!((push.stack_change, push.operation), (Some(-8), Operation::Move { bytes: 8 }));
    assert_eq!(push.operands[0], Some(Operand::Memory));
    let access = push.accesses[0];
    assert_eq!((access.base, access.displacement as i64, access.writes), (Some(4), -8, true));
    let pop = of(&[0x5b]);
    assert_eq!((pop.stack_change, pop.operands[1]), (Some(8), Some(Operand::Memory)));
    assert_eq!((pop.accesses[0].displacement, numbers(pop.overwrites)), (0, [3, 4].into()));
}

#[test]
fn operations() {
    let operation = |bytes: &[u8]| of(bytes).operation;
    assert_eq!(operation(&[0x48, 0x83, 0xe8, 8]), Operation::Add(-8)); // sub rax,8
    assert_eq!(operation(&[0x83, 0xe8, 8]), Operation::Other); // sub eax,8
    assert_eq!(operation(&[0x0f, 0xb6, 0xc3]), Operation::Move { bytes: 1 }); // movzx eax,bl
    assert_eq!(operation(&[0x8b, 0x03]), Operation::Move { bytes: 4 }); // mov eax,[rbx]
    assert_eq!(operation(&[0xf2, 0x0f, 0x10, 0x03]), Operation::Move { bytes: 8 }); // movsd xmm0,[rbx]
    assert_eq!(operation(&[0xf2, 0x0f, 0x10, 0xc1]), Operation::Other); // movsd xmm0,xmm1
    assert_eq!(operation(&[0xc7, 0x03, 1, 0, 0, 0]), Operation::Move { bytes: 4 }); // mov dword [rbx],1
    assert_eq!(operation(&[0x31, 0xc0]), Operation::Zero); // xor eax,eax
    assert_eq!(operation(&[0x48, 0x8d, 0x43, 1]), Operation::Address); // lea rax,[rbx+1]
    assert_eq!(operation(&[0x48, 0x0f, 0xbe, 0xc3]), Operation::Other); // movsx rax,bl
}
