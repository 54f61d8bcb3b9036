//! Paths whose waste was found by hand, and random code with and without what is said to be useless.

mod random;

use super::*;
use crate::backward::Kind;
use timewise_isa::effects::effects;

/// What is claimed of each of some instructions, with what is said to make it so.
fn claimed(code: &[&[u8]], live: Storages) -> Vec<Option<(Kind, Option<usize>)>> {
    let path: Vec<Effects> = code.iter().map(|bytes| effects(bytes, 0x1000)).collect();
    let path: Vec<&Effects> = path.iter().collect();
    let claims = wasted_on(&path, live);
    claims.into_iter().map(|claim| claim.map(|claim| (claim.kind, claim.because))).collect()
}

fn kinds(code: &[&[u8]]) -> Vec<Option<Kind>> {
    claimed(code, Storages::ALL).into_iter().map(|claim| claim.map(|claim| claim.0)).collect()
}

/// Everything but `rax`.
fn all_but_rax() -> Storages {
    Storages::ALL.without(Storages::one(0))
}

/// `mov REGISTER,[rsp+slot]` of 32 bits, and the store.
fn load(register: u8, slot: u8) -> Vec<u8> {
    let rex = 0x40 | register >> 3 << 2;
    vec![rex, 0x8b, 0x44 | (register & 7) << 3, 0x24, slot]
}

fn store(slot: u8, register: u8) -> Vec<u8> {
    let mut bytes = load(register, slot);
    bytes[1] = 0x89;
    bytes
}

/// `mov TO,FROM` of 32 bits.
fn copy(to: u8, from: u8) -> Vec<u8> {
    vec![0x40 | from >> 3 << 2 | to >> 3, 0x89, 0xc0 | (from & 7) << 3 | to & 7]
}

/// The piece of a hot path of bzip2 that the paper shows as its figure 8. What the paper calls dead because the store behind
/// it is redundant is not claimed: that store counts as long as it stands there.
#[test]
fn the_paper_s_example() {
    let (eax, ecx, ebx, r11, r12, r13) = (0, 1, 3, 11, 12, 13);
    let code = [
        load(ecx, 84),
        store(84, ecx), // 1: what was just loaded
        copy(r13, ebx),
        load(ecx, 108),
        store(100, ecx),
        load(ecx, 125),
        load(r12, 112),
        load(eax, 104),
        vec![0xeb, 0],   // jmp
        store(104, eax), // 9: what was loaded
        copy(eax, r12),  // 10: read once
        store(112, eax), // 11: what r12 was loaded from
        store(127, ecx),
        load(eax, 100),
        store(100, eax), // 14
        copy(eax, r13),  // 15: read once
        store(108, eax),
        load(eax, 84),
        store(84, eax), // 18
        load(eax, 76),
        store(125, eax),
        copy(eax, r11), // 21: read once
        store(120, eax),
    ];
    let code: Vec<&[u8]> = code.iter().map(Vec::as_slice).collect();
    let mut expected = [None; 23];
    for (position, because) in [(1, 0), (9, 7), (11, 6), (14, 4), (18, 1)] {
        expected[position] = Some((Kind::SameStore, Some(because)));
    }
    for (position, reader) in [(10, 11), (15, 16), (21, 22)] {
        expected[position] = Some((Kind::Move, Some(reader)));
    }
    assert_eq!(claimed(&code, all_but_rax()), expected);
}

#[test]
fn what_is_overwritten_unread_is_dead() {
    let (one, two): (&[u8], &[u8]) = (&[0x48, 0x89, 0xd8], &[0x48, 0x89, 0xc8]); // mov rax,rbx; mov rax,rcx
    assert_eq!(claimed(&[one, two], Storages::ALL), [Some((Kind::Dead, Some(1))), None]);
    assert_eq!(kinds(&[one, &[0x48, 0x01, 0xc2], two])[0], Some(Kind::Move)); // add rdx,rax
    assert_eq!(kinds(&[one, &[0xb0, 1]]), [None, None]); // mov al,1
    assert_eq!(kinds(&[one, &[0x89, 0xc8]]), [Some(Kind::Dead), None]); // mov eax,ecx
    assert_eq!(kinds(&[one, &[0xe8, 0, 0, 0, 0], two]), [None; 3]); // call
    assert_eq!(kinds(&[one, &[0x0f, 0x44, 0xc1]]), [None; 2]); // cmove eax,ecx
    // What only a dead instruction reads is dead, too, unless it is where that reads.
    let chain: [&[u8]; 4] = [&[0x48, 0x89, 0xd0], &[0x48, 0x01, 0xc3], &[0x31, 0xdb], two];
    assert_eq!(kinds(&chain)[..2], [Some(Kind::Dead), Some(Kind::Dead)]); // mov rax,rdx; add rbx,rax; xor ebx,ebx
    let chain: [&[u8]; 4] = [&[0x48, 0x89, 0xd0], &[0x48, 0x8b, 0x18], &[0xbb, 1, 0, 0, 0], two];
    assert_eq!(kinds(&chain)[1], Some(Kind::Dead)); // mov rax,rdx; mov rbx,[rax]; mov ebx,1
    assert_ne!(kinds(&chain)[0], Some(Kind::Dead));
}

#[test]
fn flags_are_results() {
    let (cmp, je, add): (&[u8], &[u8], &[u8]) = (&[0x39, 0xd8], &[0x74, 0], &[0x01, 0xd8]);
    assert_eq!(kinds(&[cmp, je, add]), [None; 3]);
    assert_eq!(kinds(&[cmp, add]), [Some(Kind::Dead), None]);
    assert_eq!(kinds(&[cmp, &[0xff, 0xc1]]), [None; 2], "inc keeps carry");
    assert_eq!(kinds(&[cmp, je, cmp, je]), [None, None, Some(Kind::Unchanged), None]);
    let zero: &[u8] = &[0x31, 0xc0]; // xor eax,eax
    assert_eq!(kinds(&[zero, zero]), [None, Some(Kind::Unchanged)]);
    assert_eq!(kinds(&[zero, cmp, zero])[2], None, "its flags are live");
    assert_eq!(kinds(&[zero, cmp, zero, add])[2], Some(Kind::Unchanged));
}

#[test]
fn what_breaks_a_dependency_is_no_waste() {
    let popcnt: &[u8] = &[0xf3, 0x0f, 0xb8, 0xc1]; // popcnt eax,ecx
    assert_eq!(kinds(&[&[0x31, 0xc0], popcnt]), [None; 2]);
    let convert: &[u8] = &[0xf2, 0x0f, 0x2a, 0xc0]; // cvtsi2sd xmm0,eax
    assert_eq!(kinds(&[&[0x66, 0x0f, 0xef, 0xc0], convert]), [None; 2]);
    assert_eq!(kinds(&[&[0x0f, 0x1f, 0], &[0xf3, 0x0f, 0x1e, 0xfa], &[0x0f, 0x18, 0x08]]), [None; 3]);
}

#[test]
fn memory_of_one_base_is_told_apart_and_all_else_is_not() {
    let (slot, other) = (load(0, 8), store(16, 1));
    let again: &[u8] = &slot;
    assert_eq!(kinds(&[again, again])[1], Some(Kind::Reload));
    assert_eq!(kinds(&[again, &other, again])[2], Some(Kind::Reload));
    let elsewhere: &[u8] = &[0x89, 0x0b]; // mov [rbx],ecx
    assert_eq!(kinds(&[again, elsewhere, again])[2], None);
    let moved: &[u8] = &[0x48, 0x83, 0xc4, 8]; // add rsp,8
    assert_eq!(
        kinds(&[again, moved, &load(0, 0)])[2],
        Some(Kind::Reload),
        "the same place by another number"
    );
    assert_eq!(kinds(&[&store(8, 1), &store(8, 2)]), [Some(Kind::DeadStore), None]);
    assert_eq!(kinds(&[&store(8, 1), &load(3, 8), &store(8, 2)]), [None, Some(Kind::Held), None]);
    assert_eq!(kinds(&[&store(8, 1), &[0x8b, 0x1b], &store(8, 2)])[0], None); // mov ebx,[rbx]
    assert_eq!(kinds(&[&store(8, 1), &store(10, 2)]), [None; 2], "overwritten in part");
    let locked: &[u8] = &[0xf0, 0xff, 0x03]; // lock inc dword [rbx]
    assert_eq!(kinds(&[again, locked, again]), [None; 3]);
}

#[test]
fn results_depend_on_what_no_operand_says() {
    let last = |code: &[&[u8]]| *kinds(code).last().unwrap();
    let (first, second): (&[u8], &[u8]) = (&[0x48, 0x8d, 0x04, 0x24], &[0x48, 0x8d, 0x44, 0x24, 8]); // lea rax,[rsp+N]
    let (store, again): (&[u8], &[u8]) = (&[0x48, 0x89, 0x0c, 0x24], &[0x48, 0x89, 0x4c, 0x24, 8]); // mov [rsp+N],rcx
    let (multiply, copy): (&[u8], &[u8]) = (&[0x48, 0xf7, 0x20], &[0x49, 0x89, 0xc0]); // mul qword [rax]; mov r8,rax
    assert_eq!(last(&[store, again, first, multiply, copy, second, multiply, copy]), None);
    assert_eq!(last(&[store, again, first, multiply, copy, first, multiply, copy]), Some(Kind::Unchanged));
    let (leave, copy): (&[u8], &[u8]) = (&[0xc9], &[0x49, 0x89, 0xe8]); // mov r8,rbp
    assert_eq!(last(&[leave, copy, leave, copy]), None);
    let strings: &[u8] = &[0xa5]; // movsd
    assert_eq!(kinds(&[strings, strings]), [None; 2]);
}

#[test]
fn the_stack_is_nobody_s_to_leave_out() {
    let (allocate, leave): (&[u8], &[u8]) = (&[0x48, 0x81, 0xec, 0x38, 1, 0, 0], &[0xc9]); // sub rsp,0x138
    assert_eq!(kinds(&[allocate, &[0x89, 0x85, 0, 0xff, 0xff, 0xff], leave]), [None; 3]); // mov [rbp-0x100],eax
    let (array, back): (&[u8], &[u8]) = (&[0x4c, 0x89, 0xc4], &[0x48, 0x89, 0xec]); // mov rsp,r8; mov rsp,rbp
    assert_eq!(kinds(&[array, back, back]), [None; 3]);
    let (frame, pop): (&[u8], &[u8]) = (&[0x48, 0x89, 0xe5], &[0x5d]); // mov rbp,rsp; pop rbp
    assert_eq!(kinds(&[frame, frame, pop]), [None; 3]);
}

#[test]
fn saving_around_nothing_is_a_pair() {
    let (push, pop): (&[u8], &[u8]) = (&[0x53], &[0x5b]); // rbx
    let pair = Some(Kind::Pair);
    assert_eq!(kinds(&[push, &[0x01, 0xc8], pop]), [pair, None, pair]); // add eax,ecx
    assert_eq!(kinds(&[push, &[0x31, 0xdb], pop])[0], None); // xor ebx,ebx
    assert_eq!(kinds(&[push, &load(0, 0), pop])[0], None, "reads what was saved");
    assert_eq!(kinds(&[push, &[0xe8, 0, 0, 0, 0], pop]), [None; 3]);
}

#[test]
fn copies_are_wasted_only_if_all_readers_could_read_the_original() {
    let (mov, end): (&[u8], &[u8]) = (&[0x48, 0x89, 0xd8], &[0x48, 0x89, 0xc8]); // mov rax,rbx; mov rax,rcx
    let reads: &[u8] = &[0x48, 0x89, 0x02]; // mov [rdx],rax
    assert_eq!(kinds(&[mov, reads, end])[0], Some(Kind::Move));
    assert_eq!(kinds(&[mov, reads])[0], None, "it is live at the end");
    assert_eq!(kinds(&[mov, &[0x48, 0xff, 0xc3], reads, end])[0], None); // inc rbx
    assert_eq!(kinds(&[mov, &[0x48, 0xff, 0xc0], end])[0], None); // inc rax
    assert_eq!(kinds(&[mov, &[0x48, 0x99], end])[0], None, "cqo reads rax only");
    let narrow: &[u8] = &[0x89, 0xd8]; // mov eax,ebx
    assert_eq!(kinds(&[narrow, &[0x89, 0x02], end])[0], Some(Kind::Move)); // mov [rdx],eax
    assert_eq!(kinds(&[narrow, &[0x89, 0x10], end])[0], None); // mov [rax],edx
    assert_eq!(kinds(&[narrow, reads, end])[0], None, "the upper half of rbx may not be zero");
}
