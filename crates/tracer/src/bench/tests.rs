//! The processor as a witness: what evaluation makes of an instruction is what executing it makes of it.

extern crate std;

use super::*;
use timewise_abi::tracing::BENCH_BYTES;
use timewise_isa::{Extension, evaluate};
use timewise_runtime::sys::memory::map_at;

/// A bench of its own.
fn bench(address: u64, vectors: Option<*const u8>) -> Bench {
    map_at(address, BENCH_BYTES, true).unwrap();
    // SAFETY: just mapped for this.
    unsafe { Bench::new(address as *mut u8, vectors, here()) }
}

/// Extensions that this machine has, of those that instructions are drawn from.
fn here() -> Extensions {
    use std::arch::is_x86_feature_detected as has;
    let all = [
        (Extension::Popcnt, has!("popcnt")),
        (Extension::Lzcnt, has!("lzcnt")),
        (Extension::Bmi1, has!("bmi1")),
        (Extension::Bmi2, has!("bmi2")),
        (Extension::Sse41, has!("sse4.1")),
        (Extension::Avx, has!("avx")),
        (Extension::Avx2, has!("avx2")),
        (Extension::Fma, has!("fma")),
    ];
    Extensions::of(all.into_iter().filter(|&(_, is_there)| is_there).map(|(extension, _)| extension))
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

/// Any bytes.
fn instruction(state: &mut u64) -> [u8; 16] {
    let [low, high] = [random(state), random(state)];
    (u128::from(high) << 64 | u128::from(low)).to_le_bytes()
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
        let mut bytes = instruction(&mut seed);
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
        let Some(alone) = bench.lone(&decoded, &state).filter(|lone| !lone.vectors) else { continue };
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
            let alone = lone(&decoded, &state).unwrap();
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

/// A frame of the kernel's, of the registers of a new process.
#[repr(C, align(64))]
struct Saved([u8; 4096]);

impl Saved {
    /// With features of the system's, of which registers of AVX are some.
    fn new(features: u8) -> Saved {
        let mut saved = Saved([0; 4096]);
        saved.0[464..468].copy_from_slice(&0x4650_5853_u32.to_le_bytes());
        saved.0[472] = features;
        saved.0[480..484].copy_from_slice(&832_u32.to_le_bytes());
        saved
    }

    /// With numbers in the registers of SSE and AVX.
    fn filled(features: u8) -> Saved {
        let mut saved = Saved::new(features);
        saved.0[COMPONENTS_AT] = SSE | AVX;
        for (at, bytes) in (0_u64..).zip(saved.0[LOWER_AT..832].chunks_exact_mut(8)) {
            if !(416 - LOWER_AT as u64..576 - LOWER_AT as u64).contains(&(8 * at)) {
                bytes.copy_from_slice(&(at as f64 * 1.25 - 40.0).to_le_bytes());
            }
        }
        saved
    }
}

#[test]
fn vectors_stay_from_one_instruction_to_the_next() {
    for (at, features) in [(0x1234_7000_0000, 0), (0x1234_7100_0000, SSE | AVX)] {
        let saved = Saved::new(features);
        let mut bench = bench(at, Some(saved.0.as_ptr()));
        let mut state = State::default();
        state.general[0] = 0x4142_4344_4546_4748;
        state.general[3] = 0x9000;
        let mut memory = Everywhere::new(7);
        let mut run = |bytes: &[u8], state: &mut State, memory: &mut Everywhere| {
            let decoded = Decoded::new(bytes, 0x1000).unwrap();
            assert_eq!(decoded.length(), bytes.len());
            let alone = lone(&decoded, state).unwrap();
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
        // What was held by itself before is what it was.
        run(&[0x66, 0x0f, 0xd7, 0xd1], &mut state, &mut memory); // pmovmskb edx, xmm1
        assert_eq!(state.general[2], 0xffff);
    }
}

/// Registers of SSE and AVX one by one, and all registers as the processor saves them: instructions do the same.
#[test]
fn registers_one_by_one_are_those_that_the_processor_saves() {
    const WANTED: u32 = 20_000;
    const ADDRESS: u64 = 0x9000;
    let [one_by_one, at_once] = [Saved::filled(SSE | AVX), Saved::filled(0)];
    let mut narrow = bench(0x1234_9000_0000, Some(one_by_one.0.as_ptr()));
    let mut all = bench(0x1234_a000_0000, Some(at_once.0.as_ptr()));
    let mut seed = 0x2545_f491_4f6c_dd1d;
    let (mut compared, mut tried) = (0, 0);
    while compared < WANTED {
        tried += 1;
        let mut bytes = instruction(&mut seed);
        match random(&mut seed) % 4 {
            0 => bytes[0] = 0x0f,
            1 => (bytes[0], bytes[1]) = (0x66, 0x0f),
            2 => bytes[0] = 0xc5,
            _ => (bytes[0], bytes[1]) = (0xc4, 0xe0 | bytes[1] & 3),
        }
        let mut state = State { flags: 0x202, ..State::default() };
        state.general = core::array::from_fn(|_| number(&mut seed));
        let Some(decoded) = Decoded::new(&bytes, 0x1000) else { continue };
        let alone = narrow.lone(&decoded, &state);
        let Some(alone) = alone.filter(|lone| lone.vectors && !lone.wide) else { continue };
        // And what one of the registers holds now.
        let (prefix, low) = (if compared & 8 == 0 { 0xfc } else { 0x7c }, compared as u8 & 7);
        let stores = [0xc5, prefix, 0x11, 0x04 | low << 3, 0x25, 0, 0x90, 0, 0];
        for (bytes, alone) in [(&bytes[..decoded.length()], alone), (&stores[..], store(&stores))] {
            let (mut by_one, mut by_all) = (state, state);
            let (mut one_wrote, mut all_wrote) = (Everywhere::new(seed), Everywhere::new(seed));
            assert!(narrow.execute(&alone, &mut by_one, &mut one_wrote));
            assert!(all.execute(&alone, &mut by_all, &mut all_wrote));
            assert_eq!((by_one.general, by_one.flags), (by_all.general, by_all.flags), "{bytes:x?}");
            assert!(same_memory(&one_wrote, &all_wrote), "memory of {bytes:x?}");
        }
        compared += 1;
    }
    assert!(narrow.held == Held::Narrow && all.held == Held::All && tried < 100 * compared, "{tried}");
    // vmovups [0x9000], ymm0 to ymm15
    fn store(bytes: &[u8; 9]) -> Lone {
        let decoded = Decoded::new(bytes, 0x1000).unwrap();
        let alone = lone(&decoded, &State::default()).unwrap();
        assert_eq!(alone.memory.map(|memory| (memory.address, memory.size)), Some((ADDRESS, 32)));
        alone
    }
}

#[test]
fn what_the_machine_does_not_have_is_refused() {
    let without = Extensions::of([]);
    // SAFETY: mapped for this.
    let mut bench = unsafe { Bench::new(bench(0x1234_b000_0000, None).page, None, without) };
    let popcnt = [0xf3, 0x48, 0x0f, 0xb8, 0xc1]; // popcnt rax, rcx
    let decoded = Decoded::new(&popcnt, 0x1000).unwrap();
    assert_eq!(bench.lone(&decoded, &State::default()), None);
    bench.extensions = Extensions::of([Extension::Popcnt]);
    assert!(bench.lone(&decoded, &State::default()).is_some());
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
        assert_eq!(lone(&decoded, &state), None, "{bytes:x?}");
    }
}
