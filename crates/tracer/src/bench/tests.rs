//! The processor as a witness: what evaluation makes of an instruction is what executing it makes of it.

use super::*;
use timewise_abi::tracing::BENCH_BYTES;
use timewise_isa::{Decoded, evaluate, lone};
use timewise_runtime::sys::memory::map_at;

/// A bench of its own.
fn bench(address: u64, vectors: Option<*const u8>) -> Bench {
    map_at(address, BENCH_BYTES, true).unwrap();
    // SAFETY: just mapped for this.
    unsafe { Bench::new(address as *mut u8, vectors) }
}

/// Memory that can be read everywhere, and keeps the last writes.
#[derive(Clone, PartialEq, Debug)]
struct Everywhere {
    seed: u64,
    writes: [Option<(u64, u8)>; 128],
    used: usize,
}

impl Everywhere {
    fn new(seed: u64) -> Everywhere {
        Everywhere { seed, writes: [None; 128], used: 0 }
    }

    fn byte(&self, address: u64) -> u8 {
        let written = self.writes[..self.used].iter().rev().flatten().find(|&&(at, _)| at == address);
        written.map_or((address.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.seed) as u8, |&(_, byte)| byte)
    }

    /// All bytes that were written, as they are last, by address.
    fn settled(&self) -> [Option<(u64, u8)>; 128] {
        let mut settled = [None; 128];
        for (to, from) in settled.iter_mut().zip(&self.writes[..self.used]) {
            *to = from.map(|(at, _)| (at, self.byte(at)));
        }
        settled
    }
}

impl Memory for Everywhere {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> bool {
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = self.byte(address.wrapping_add(at as u64));
        }
        true
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        for (at, &byte) in bytes.iter().enumerate() {
            self.writes[self.used] = Some((address.wrapping_add(at as u64), byte));
            self.used += 1;
        }
        true
    }
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Numbers like those of programs: small, large, negative, and at the borders.
fn number(state: &mut u64) -> u64 {
    let value = random(state);
    match random(state) % 6 {
        0 => value % 300,
        1 => (value % 300).wrapping_neg(),
        2 => value & 0xffff_ffff,
        3 => 1_u64.rotate_left(value as u32 & 63).wrapping_sub(value >> 63),
        _ => value,
    }
}

/// What changed in the memory of one and not in that of the other. Writing what was there is no change.
fn same_memory(one: &Everywhere, other: &Everywhere) -> bool {
    let all = one.settled().into_iter().chain(other.settled());
    all.flatten().all(|(at, _)| one.byte(at) == other.byte(at))
}

#[test]
fn random_instructions_do_what_the_processor_does() {
    const WANTED: u32 = 50_000;
    let mut bench = bench(0x1234_6000_0000, None);
    let mut seed = 0x1f3d_5b79_8642_0af1;
    let (mut compared, mut tried) = (0, 0);
    while compared < WANTED {
        tried += 1;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&random(&mut seed).to_le_bytes());
        bytes[8..].copy_from_slice(&random(&mut seed).to_le_bytes());
        // Prefixes and escapes stand in front of much that matters.
        match random(&mut seed) % 4 {
            0 => bytes[0] = 0x48 | bytes[0] & 7,
            1 => bytes[0] = 0x0f,
            2 => (bytes[0], bytes[1]) = (0x48 | bytes[0] & 7, 0x0f),
            _ => {}
        }
        let mut state = State { flags: 0x202 | random(&mut seed) & ARITHMETIC, ..State::default() };
        state.general = core::array::from_fn(|_| number(&mut seed));
        state.segment_bases = [Some(number(&mut seed)), None];
        let memory = Everywhere::new(seed);
        let Some(decoded) = Decoded::new(&bytes, 0x1000) else { continue };
        let Some(alone) = lone(&decoded, &bytes, &state).filter(|lone| !lone.vectors) else { continue };
        let (mut evaluated, mut changed) = (state, memory.clone());
        let Some(way) = evaluate(&decoded, &mut evaluated, &mut changed) else { continue };
        let (mut executed, mut really_changed) = (state, memory.clone());
        assert!(bench.execute(&alone, &mut executed, &mut really_changed));
        let what = &bytes[..decoded.length()];
        assert_eq!(way.address, decoded.next(), "{what:x?}");
        assert_eq!(evaluated.general, executed.general, "{what:x?} in {state:x?}");
        let differ = (evaluated.flags ^ executed.flags) & ARITHMETIC & !evaluated.undefined_flags;
        assert_eq!(differ, 0, "flags of {what:x?} in {state:x?}");
        assert!(same_memory(&changed, &really_changed), "memory of {what:x?} in {state:x?}");
        compared += 1;
    }
    assert!(tried < 100 * compared, "{tried}");
}

/// Each has a place where it stays, until another comes there.
#[test]
fn an_instruction_does_the_same_each_time() {
    let mut bench = bench(0x1234_8000_0000, None);
    let mut state = State::default();
    let memory = Everywhere::new(3);
    for round in 0..3000_u32 {
        // add eax, round % 1000; sub rbx, [rcx]
        let [low, high] = [round % 1000, (round % 1000) >> 8].map(|part| part as u8);
        for bytes in [[0x05, low, high, 0, 0], [0x48, 0x2b, 0x19, 0, 0]] {
            let decoded = Decoded::new(&bytes, 0x1000).unwrap();
            let alone = lone(&decoded, &bytes, &state).unwrap();
            let mut evaluated = state;
            evaluate(&decoded, &mut evaluated, &mut memory.clone()).unwrap();
            assert!(bench.execute(&alone, &mut state, &mut memory.clone()));
            assert_eq!(state.general, evaluated.general, "round {round}");
        }
    }
    assert_eq!(state.general[0], 3 * 999 * 1000 / 2);
}

/// Divisions fault, so that the bench refuses them: here the processor does them with what does not.
#[test]
fn divisions_do_what_the_processor_does() {
    let mut seed = 0x5bd1_e995_97f4_a7c1;
    for _ in 0..100_000 {
        let (low, by) = (number(&mut seed), number(&mut seed));
        if by == 0 {
            continue;
        }
        let mut state = State::default();
        (state.general[0], state.general[1]) = (low, by);
        let divide = |bytes: &[u8], state: &State| {
            let mut state = *state;
            let decoded = Decoded::new(bytes, 0x1000).unwrap();
            evaluate(&decoded, &mut state, &mut Everywhere::new(0))
                .map(|_| (state.general[0], state.general[2]))
        };
        assert_eq!(divide(&[0x48, 0xf7, 0xf1], &state), Some((low / by, low % by))); // div rcx
        state.general[2] = ((low as i64) >> 63) as u64;
        let (low, by) = (low as i64, by as i64);
        let signed = low.checked_div(by).map(|quotient| (quotient as u64, (low % by) as u64));
        assert_eq!(divide(&[0x48, 0xf7, 0xf9], &state), signed); // idiv rcx
    }
}

/// A frame of the kernel's in which all registers of vectors are as in a new process.
#[repr(C, align(64))]
struct Frame([u8; 4096]);

#[test]
fn vectors_stay_from_one_instruction_to_the_next() {
    let mut frame = Frame([0; 4096]);
    frame.0[464..468].copy_from_slice(&0x4650_5853_u32.to_le_bytes());
    frame.0[480..484].copy_from_slice(&832_u32.to_le_bytes());
    let mut bench = bench(0x1234_7000_0000, Some(frame.0.as_ptr()));
    let mut state = State::default();
    state.general[0] = 0x4142_4344_4546_4748;
    state.general[3] = 0x9000;
    let mut memory = Everywhere::new(7);
    let mut run = |bytes: &[u8], state: &mut State, memory: &mut Everywhere| {
        let decoded = Decoded::new(bytes, 0x1000).unwrap();
        assert_eq!(decoded.length(), bytes.len());
        let alone = lone(&decoded, bytes, state).unwrap();
        assert!(alone.vectors && bench.execute(&alone, state, memory));
    };
    run(&[0x66, 0x48, 0x0f, 0x6e, 0xc8], &mut state, &mut memory); // movq xmm1, rax
    run(&[0x66, 0x0f, 0x6c, 0xc9], &mut state, &mut memory); // punpcklqdq xmm1, xmm1
    run(&[0xf3, 0x0f, 0x7f, 0x4c, 0x4b, 0x10], &mut state, &mut memory); // movdqu [rbx+rcx*2+16], xmm1
    let stored: [u8; 16] = core::array::from_fn(|at| memory.byte(0x9010 + at as u64));
    assert_eq!(stored, *b"HGFEDCBAHGFEDCBA");
    run(&[0x66, 0x0f, 0x74, 0x4b, 0x10], &mut state, &mut memory); // pcmpeqb xmm1, [rbx+16]
    run(&[0x66, 0x0f, 0xd7, 0xd1], &mut state, &mut memory); // pmovmskb edx, xmm1
    assert_eq!(state.general[2], 0xffff);
    run(&[0xf2, 0x48, 0x0f, 0x2a, 0xc3], &mut state, &mut memory); // cvtsi2sd xmm0, rbx
    run(&[0x66, 0x0f, 0x2e, 0xc1], &mut state, &mut memory); // ucomisd xmm0, xmm1 (all ones: no number)
    assert_eq!(state.flags & ARITHMETIC, 0x45);
    run(&[0xdf, 0x6b, 0x10], &mut state, &mut memory); // fild qword [rbx+16]
    run(&[0xdf, 0x7b, 0x20], &mut state, &mut memory); // fistp qword [rbx+32]
    let stored: [u8; 8] = core::array::from_fn(|at| memory.byte(0x9020 + at as u64));
    assert_eq!(stored, *b"HGFEDCBA");
}

#[test]
fn what_may_do_anything_else_is_refused() {
    let state = State::default();
    let refused: [&[u8]; 14] = [
        &[0x0f, 0x05],                   // syscall
        &[0x0f, 0x31],                   // rdtsc
        &[0x0f, 0xa2],                   // cpuid
        &[0xcc],                         // int3
        &[0x48, 0xf7, 0xf1],             // div rcx
        &[0x48, 0x89, 0xe5],             // mov rbp, rsp
        &[0x0f, 0xae, 0x18],             // stmxcsr [rax]
        &[0xd9, 0x28],                   // fldcw [rax]
        &[0x66, 0x0f, 0xf7, 0xc1],       // maskmovdqu xmm0, xmm1
        &[0xf3, 0xa4],                   // rep movsb
        &[0x8e, 0xe8],                   // mov gs, eax
        &[0x0f, 0xab, 0x08],             // bts [rax], ecx
        &[0xf3, 0x48, 0x0f, 0xae, 0xd0], // wrfsbase rax
        &[0x0f, 0x0b],                   // ud2
    ];
    for bytes in refused {
        let decoded = Decoded::new(bytes, 0x1000).unwrap();
        assert_eq!(lone(&decoded, bytes, &state), None, "{bytes:x?}");
    }
}
