//! Forms of instructions as they were timed natively: cycles of one in a chain, or beside others of its kind.

use crate::loops::{START, cycles, near};

/// Loops of bodies on `zen-4` that access one place, with what each repetition takes.
#[track_caller]
fn take(bodies: &[(&[&[u8]], f64)]) {
    for (body, expected) in bodies {
        near(cycles("zen-4", body, &mut |_| 0x1000), *expected);
    }
}

#[test]
fn loads_that_compute_take_a_cycle_more() {
    take(&[
        (&[&[0x48, 0x8b, 0x00]], 4.0),       // mov rax,[rax]
        (&[&[0x48, 0x63, 0x00]], 5.0),       // movsxd rax,[rax]
        (&[&[0x48, 0x0f, 0xbe, 0x00]], 5.0), // movsx rax,byte [rax]
        (&[&[0x8a, 0x07]], 1.0),             // mov al,[rdi], by the rest of the register
        (&[&[0x48, 0x63, 0x07]], 1.0 / 3.0), // movsxd rax,[rdi]
    ]);
}

#[test]
fn what_computes_with_what_was_stored_is_not_known_at_rename() {
    let store: &[u8] = &[0x48, 0x89, 0x07]; // mov [rdi],rax
    take(&[
        (&[store, &[0x48, 0x8b, 0x07]], 1.0), // mov rax,[rdi]
        (&[store, &[0x48, 0x63, 0x07]], 8.0), // movsxd rax,[rdi]
        (&[store, &[0x48, 0x03, 0x07]], 8.0), // add rax,[rdi]
        (&[&[0x48, 0x01, 0x07]], 1.0),        // add [rdi],rax
        (&[&[0x48, 0x0f, 0xc1, 0x07]], 8.0),  // xadd [rdi],rax
    ]);
}

/// The upper half of a product, and the lower one.
#[test]
fn halves_of_products_take_their_own_time() {
    let copy: &[u8] = &[0x48, 0x89, 0xd0]; // mov rax,rdx
    take(&[
        (&[&[0x49, 0xf7, 0xe1]], 3.0),             // mul r9
        (&[&[0x66, 0x41, 0xf7, 0xe1]], 3.0),       // mul r9w, whose upper half is a part of a register
        (&[&[0x49, 0xf7, 0xe1], copy], 4.0),       // mul r9; mov rax,rdx
        (&[&[0x49, 0xf7, 0xe9], copy], 4.0),       // imul r9; mov rax,rdx
        (&[&[0x41, 0xf7, 0xe1], copy], 4.0),       // mul r9d; mov rax,rdx
        (&[&[0xc4, 0xc2, 0xeb, 0xf6, 0xd1]], 4.0), // mulx rdx,rdx,r9
        // mov edx,r8d; mulx r10,r8,r9
        (&[&[0x44, 0x89, 0xc2], &[0xc4, 0x42, 0xbb, 0xf6, 0xd1]], 3.0),
    ]);
}

#[test]
fn what_shifts_two_registers_and_what_compresses() {
    take(&[
        (&[&[0x48, 0x0f, 0xa4, 0xd0, 3]], 2.0), // shld rax,rdx,3
        // shld rax,rdx,3; shld r8,rdx,3
        (&[&[0x48, 0x0f, 0xa4, 0xd0, 3], &[0x49, 0x0f, 0xa4, 0xd0, 3]], 4.0),
        (&[&[0x62, 0xf2, 0x7d, 0xc9, 0x8b, 0xc0]], 5.0), // vpcompressd zmm0{k1}{z},zmm0
        (&[&[0x62, 0xf2, 0x7d, 0xc9, 0x89, 0xc0]], 5.0), // vpexpandd zmm0{k1}{z},zmm0
        (&[&[0x62, 0xf2, 0x7d, 0xc9, 0x88, 0xc0]], 5.0), // vexpandps zmm0{k1}{z},zmm0
        (&[&[0x62, 0xf2, 0x7d, 0xa9, 0x88, 0xc0]], 4.0), // vexpandps ymm0{k1}{z},ymm0
    ]);
}

/// What lies within what was stored, but does not begin there.
#[test]
fn parts_of_what_was_stored_are_not_known_at_rename() {
    // mov [rdi],rax; mov eax,[rdi+4]
    let body: [&[u8]; 2] = [&[0x48, 0x89, 0x07], &[0x8b, 0x47, 0x04]];
    near(cycles("zen-4", &body, &mut |access| 0x1000 + access % 2 * 4), 7.0);
}

/// Ports are 32 bytes wide, and entries 64.
#[test]
fn vectors_of_64_bytes_take_their_ports_twice() {
    take(&[
        (&[&[0x62, 0xf1, 0x7c, 0x48, 0x28, 0x0f]], 1.0), // vmovaps zmm1,[rdi]
        (&[&[0x62, 0xf1, 0x7c, 0x48, 0x29, 0x0f]], 2.0), // vmovaps [rdi],zmm1
        (&[&[0x62, 0xf1, 0x6c, 0x48, 0x58, 0xca]], 1.0), // vaddps zmm1,zmm2,zmm2
        (&[&[0x62, 0xf1, 0x6d, 0x48, 0xec, 0xca]], 1.0), // vpaddsb zmm1,zmm2,zmm2
        (&[&[0xc5, 0xed, 0xec, 0xca]], 0.5),             // vpaddsb ymm1,ymm2,ymm2
        (&[&[0x62, 0xf1, 0xfd, 0x48, 0x6f, 0xca]], 1.0 / 6.0), // vmovdqa64 zmm1,zmm2
    ]);
}

#[test]
fn stores_across_pieces_go_into_the_cache_alone() {
    let store: &[u8] = &[0x48, 0x89, 0x07]; // mov [rdi],rax
    for (address, expected) in [(0x1000, 0.5), (0x100c, 0.5), (0x101c, 2.0), (0x103c, 2.0), (0x1ffc, 34.0)] {
        near(cycles("zen-4", &[store], &mut |_| address), expected);
    }
}

#[test]
fn x87_results_go_through_the_stack() {
    let (fld, fadd, pop): (&[u8], &[u8], &[u8]) = (&[0xd9, 0xc0], &[0xd8, 0xc2], &[0xdd, 0xd8]);
    take(&[
        (&[&[0xd8, 0xc1]], 7.0),                 // fadd st,st(1)
        (&[fld, fadd, pop], 1.5), // fld st(0); fadd st,st(2); fstp st(0): none waits for another
        (&[&[0xdd, 0x1f], &[0xdd, 0x07]], 13.0), // fstp qword [rdi]; fld qword [rdi]
    ]);
}

#[test]
fn string_instructions_take_what_they_were_seen_to() {
    use timewise_core_model::{Code, Core, Processor};
    use timewise_replay::Access;
    // rep movsb; rep stosb; repe cmpsb; repne scasb, one behind another, with registers anew: mov rdi,r8; mov rsi,r9; mov ecx,1;
    // and a jump back
    const MOVES: [u8; 11] = [0x4c, 0x89, 0xc7, 0x4c, 0x89, 0xce, 0xb9, 1, 0, 0, 0];
    let takes = |bytes: &[u8], size: u64| {
        let mut code = Code::new(&Processor::named("zen-4").unwrap()).unwrap();
        let number = code.add(0, 0, &[&MOVES, bytes, &[0xeb, 0xf1]].concat(), START);
        let total = |times| {
            let mut core =
                Core::new(&Processor::named("zen-4").unwrap(), &code, |_: &timewise_trace::Record| {});
            let from = Access { address: 0x1_0000, size, unit: 1, reads: true, writes: false };
            let to = Access { address: 0x2_0000, reads: false, writes: true, ..from };
            let accesses = match bytes[1] {
                0xa4 => vec![from, to],
                0xaa => vec![to],
                0xa6 => vec![from, Access { address: 0x2_0000, ..from }],
                _ => vec![from],
            };
            for _ in 0..times {
                (0..3).for_each(|before| core.step(&code, number + before, &[]));
                core.step(&code, number + 3, &accesses);
                core.step(&code, number + 4, &[]);
            }
            core.finish().1.cycles
        };
        (total(60) - total(20)) as f64 / 40.0
    };
    for (bytes, size, expected) in [
        ([0xf3, 0xa4], 64, 14.0),
        ([0xf3, 0xa4], 1024, 55.0),
        ([0xf3, 0xa4], 4096, 150.6),
        ([0xf3, 0xaa], 64, 9.0),
        ([0xf3, 0xaa], 1024, 46.8),
        ([0xf3, 0xaa], 4096, 130.7),
        ([0xf3, 0xa6], 256, 101.1),
        ([0xf2, 0xae], 256, 535.6),
    ] {
        let got = takes(&bytes, size);
        assert!(
            (got / expected - 1.0).abs() < 0.06,
            "{bytes:x?} of {size}: {got} cycles, natively {expected}"
        );
    }
}

/// They compute with what they write, also where nothing of it is left.
#[test]
fn compressing_and_expanding_wait_for_what_they_write() {
    // vcompressps zmm2{k1}{z},zmm1, and into zmm3, zmm4, zmm5; from zmm2
    let compress = |registers: u8| [0x62, 0xf2, 0x7d, 0xc9, 0x8a, registers];
    let apart = [compress(0xca), compress(0xcb), compress(0xcc), compress(0xcd)];
    // vpexpandd xmm2{k1}{z},[rdi], and into xmm3, xmm4, xmm5
    let expand = |registers: u8| [0x62, 0xf2, 0x7d, 0x89, 0x89, registers];
    let expanded = [expand(0x17), expand(0x1f), expand(0x27), expand(0x2f)];
    take(&[
        (&[&compress(0xca)], 5.0),
        (&[&compress(0xd2)], 5.0),
        (&[&expand(0x17)], 2.0),
        (&apart.each_ref().map(|bytes| &bytes[..]), 4.0 * 4.0 / 3.0),
        (&expanded.each_ref().map(|bytes| &bytes[..]), 4.0 * 2.0 / 3.0),
    ]);
}

#[test]
fn stores_by_masks_are_microcode() {
    take(&[
        (&[&[0x62, 0xf2, 0x7d, 0x49, 0x8a, 0x0f]], 70.0), // vcompressps [rdi]{k1},zmm1
        (&[&[0x62, 0xf2, 0xfd, 0x09, 0x8b, 0x0f]], 42.0), // vpcompressq [rdi]{k1},xmm1
        (&[&[0xc4, 0xe2, 0x65, 0x2e, 0x0f]], 12.0),       // vmaskmovps [rdi],ymm3,ymm1
        (&[&[0xc4, 0xe2, 0x61, 0x2e, 0x0f]], 6.0),        // vmaskmovps [rdi],xmm3,xmm1
        (&[&[0xc4, 0xe2, 0xe5, 0x8e, 0x0f]], 6.0),        // vpmaskmovq [rdi],ymm3,ymm1
        (&[&[0xc4, 0xe2, 0xe1, 0x8e, 0x0f]], 4.0),        // vpmaskmovq [rdi],xmm3,xmm1
    ]);
}

#[test]
fn what_computes_and_stores_takes_what_it_was_seen_to() {
    let (one, pop): (&[u8], &[u8]) = (&[0xd9, 0xe8], &[0xdd, 0xd8]);
    take(&[
        (&[&[0xc4, 0xe3, 0x79, 0x1d, 0x0f, 0x00]], 1.0), // vcvtps2ph [rdi],xmm1,0
        (&[&[0xc4, 0xe3, 0x7d, 0x1d, 0x0f, 0x00]], 2.0), // vcvtps2ph [rdi],ymm1,0
        (&[&[0x0f, 0x92, 0x07]], 1.0),                   // setb [rdi]
        (&[&[0x48, 0x0f, 0xa3, 0x0f]], 3.0),             // bt [rdi],rcx
        (&[one, pop], 1.0),                              // fld1; fstp st(0)
        (&[one, &[0xdf, 0x3f]], 2.0),                    // fld1; fistp qword [rdi]
    ]);
    // fld tbyte [rdi]; fstp tbyte [rdi+16]
    let body: [&[u8]; 2] = [&[0xdb, 0x2f], &[0xdb, 0x7f, 0x10]];
    near(cycles("zen-4", &body, &mut |access| 0x1000 + access % 2 * 16), 9.0);
}

/// A load behind a large store of a string does not wait for all of it: the string instruction does.
#[test]
fn string_instructions_commit_when_their_lines_are_there() {
    use timewise_core_model::{Code, Core, Processor};
    use timewise_replay::Access;
    for name in ["zen-4", "raptor-cove"] {
        let processor = Processor::named(name).unwrap();
        let mut code = Code::new(&processor).unwrap();
        // rep stosb; mov rax,[rsi]; jmp
        let number = code.add(0, 0, &[0xf3, 0xaa, 0x48, 0x8b, 0x06, 0xeb, 0xf9], START);
        let mut cycles = [0, 0];
        let observer = |record: &timewise_trace::Record| {
            if let Some(head) = record.heads().first() {
                cycles[usize::from(head.instruction != number)] += u64::from(record.repeat);
            }
        };
        let mut core = Core::new(&processor, &code, observer);
        let to = Access { address: 1 << 24, size: 2 << 20, unit: 1, reads: false, writes: true };
        let from = Access { address: 1 << 23, size: 8, unit: 8, reads: true, writes: false };
        for _ in 0..4 {
            core.step(&code, number, &[to]);
            core.step(&code, number + 1, &[from]);
            core.step(&code, number + 2, &[]);
        }
        let totals = core.finish().1;
        assert_eq!(totals.instructions, 12);
        assert!(cycles[1] * 20 < cycles[0], "{name}: {cycles:?} cycles of the stores and of others");
    }
}
