//! Loops of loads, stores and string instructions whose cycles follow from the processor's record by hand.

use crate::loops::{LOAD_CHAIN, Loop, START, cycles, near};
use timewise_core_model::{Code, Core, Processor};
use timewise_replay::Access;
use timewise_trace::Record;

/// Two loads of sixteen bytes a cycle, and a store to one piece of as many.
#[test]
fn wide_vectors_are_accessed_by_halves() {
    // vmovups xmm0 and ymm0,[rdi]; vmovups [rdi],xmm0 and ymm0; mov [rdi],rax
    let loads: [&[u8]; 2] = [&[0xc5, 0xf8, 0x10, 0x07], &[0xc5, 0xfc, 0x10, 0x07]];
    let stores: [&[u8]; 3] = [&[0xc5, 0xf8, 0x11, 0x07], &[0xc5, 0xfc, 0x11, 0x07], &[0x48, 0x89, 0x07]];
    near(cycles("zen-1", &[loads[0]], &mut |_| 0), 1.0 / 2.0);
    near(cycles("zen-1", &[loads[1]], &mut |_| 0), 1.0);
    near(cycles("zen-4", &[loads[1]], &mut |_| 0), 1.0 / 2.0);
    for (store, address, expected) in
        [(stores[0], 0, 1.0), (stores[1], 0, 2.0), (stores[2], 8, 1.0), (stores[2], 12, 2.0)]
    {
        near(cycles("zen-1", &[store], &mut |_| address), expected);
    }
}

#[test]
fn loads_in_a_chain_take_the_latency_of_the_first_level() {
    for core in timewise_core_model::names() {
        let latency = Processor::named(core).unwrap().memory.data.latency as f64;
        near(cycles(core, &[LOAD_CHAIN], &mut |_| 0x1000), latency);
    }
}

/// The port that loads extends by the sign, too, and the rest of a register is put to a byte on another.
#[test]
fn loads_of_less_than_a_register_take_a_cycle_more() {
    let takes = |load: &[u8], expected| near(cycles("raptor-cove", &[load], &mut |_| 0x1000), expected);
    // movsxd rax,[rax]; mov al,[rax]; movzx eax,byte [rax]
    takes(&[0x48, 0x63, 0x00], 6.0);
    takes(&[0x8a, 0x00], 6.0);
    takes(&[0x0f, 0xb6, 0x00], 5.0);
    // movsxd rax,[rbx]; mov al,[rbx]
    takes(&[0x48, 0x63, 0x03], 1.0 / 3.0);
    takes(&[0x8a, 0x03], 1.0);
}

#[test]
fn chains_through_larger_footprints_take_the_latency_of_their_level() {
    for core in ["zen-4", "raptor-cove"] {
        let mut processor = Processor::named(core).unwrap();
        // Pages and prefetchers are not what is measured.
        processor.translation.page = 1 << 30;
        processor.memory.data.prefetch.clear();
        let second = processor.memory.second.as_mut().unwrap();
        second.prefetch.clear();
        let (lines, latency) = (second.kib as u64 * 1024 / 64 / 2, second.latency as f64);
        // A multiplier that is prime to the number of lines visits each once before the first again.
        let chain = Loop { body: &[LOAD_CHAIN], unroll: 500 };
        let got = chain.cycles(&processor, &mut |n| (n * 797 % lines) * 64);
        near(got, latency);
    }
}

#[test]
fn loads_and_stores_are_limited_by_their_ports() {
    let load: &[u8] = &[0x48, 0x8b, 0x03]; // mov rax,[rbx]
    near(cycles("zen-4", &[load], &mut |_| 0x1000), 1.0 / 3.0);
    near(cycles("raptor-cove", &[load], &mut |_| 0x1000), 1.0 / 3.0);
    near(cycles("boom-4w-tip", &[load], &mut |_| 0x1000), 1.0 / 2.0);
    let store: &[u8] = &[0x48, 0x89, 0x03]; // mov [rbx],rax
    near(cycles("boom-4w-tip", &[store], &mut |_| 0x1000), 1.0);
    for core in ["zen-4", "raptor-cove"] {
        near(cycles(core, &[store], &mut |_| 0x1000), 1.0 / 2.0);
        // To two lines in turn.
        near(cycles(core, &[store], &mut |n| 0x1000 + n % 2 * 64), 1.0);
    }
}

#[test]
fn data_go_through_the_store_queue() {
    // mov [rbx+rsi],rax; mov rax,[rcx+rsi]
    let pair: [&[u8]; 2] = [&[0x48, 0x89, 0x04, 0x33], &[0x48, 0x8b, 0x04, 0x31]];
    for core in timewise_core_model::names() {
        let forward = Processor::named(core).unwrap().loads.forward as f64;
        // A cycle for the data to be in the queue.
        near(cycles(core, &pair, &mut |_| 0x1000), forward + 1.0);
    }
    // mov [rbx],rax; mov rax,[rbx]: the register itself; stores are what limits, or rename
    let same: [&[u8]; 2] = [&[0x48, 0x89, 0x03], &[0x48, 0x8b, 0x03]];
    near(cycles("zen-4", &same, &mut |_| 0x1000), 1.0);
    near(cycles("raptor-cove", &same, &mut |_| 0x1000), 0.5);
    // mov [rbx],eax; mov [rbx+4],eax; mov rax,[rcx]: waits for the cache
    let parts: [&[u8]; 3] = [&[0x89, 0x03], &[0x89, 0x43, 0x04], &[0x48, 0x8b, 0x01]];
    let blocked = cycles("zen-4", &parts, &mut |n| [0x1000, 0x1004, 0x1000][n as usize % 3]);
    let loads = Processor::named("zen-4").unwrap().loads;
    assert!(blocked > (loads.forward + loads.blocked) as f64, "{blocked}");
}

#[test]
fn loads_are_foreseen_that_were_of_stores_before() {
    let takes = |unroll, body: &[&[u8]], expected| {
        let zen_4 = Processor::named("zen-4").unwrap();
        near(Loop { body, unroll }.cycles(&zen_4, &mut |_| 0x1000), expected);
    };
    // mov [rbx],rax; mov rax,[rcx]: natively 24 such pairs take 24.1 cycles, 32 take 193
    let pair: [&[u8]; 2] = [&[0x48, 0x89, 0x03], &[0x48, 0x8b, 0x01]];
    takes(24, &pair, 1.0);
    takes(32, &pair, 7.0);
    // push rbp; mov rbp,rsp; leave: natively 24 take 48.1, and 40 take 250
    let (push, copy): (&[u8], &[u8]) = (&[0x55], &[0x48, 0x89, 0xe5]);
    takes(24, &[push, copy, &[0xc9]], 2.0);
    takes(40, &[push, copy, &[0xc9]], 7.0);
    // push r8; mov rsp,r9; pop r8: natively 6.2, by the stack pointer nothing is foreseen
    let (push, pop): (&[u8], &[u8]) = (&[0x41, 0x50], &[0x41, 0x58]);
    takes(10, &[push, &[0x4c, 0x89, 0xcc], pop], 7.0);
    // push r8; and rsp,-8; pop r8: natively 6.0
    takes(10, &[push, &[0x48, 0x83, 0xe4, 0xf8], pop], 7.0);
    // push r8; lea rsp,[rsp-64]; lea rsp,[rsp+64]; pop r8: natively 2.0, constants are added
    takes(10, &[push, &[0x48, 0x8d, 0x64, 0x24, 0xc0], &[0x48, 0x8d, 0x64, 0x24, 0x40], pop], 3.0);
}

/// Golden Cove recognises moves by a base register, and constants that are added to memory.
#[test]
fn not_all_that_goes_through_memory_is_recognised() {
    // Through the queue, which takes a cycle.
    let forward = Processor::named("raptor-cove").unwrap().loads.forward as f64 + 1.0;
    let takes = |body: &[&[u8]], expected| near(cycles("raptor-cove", body, &mut |_| 0x1000), expected);
    // mov [rip],rax; mov rax,[rip]
    takes(&[&[0x48, 0x89, 0x05, 0, 0, 0, 0], &[0x48, 0x8b, 0x05, 0, 0, 0, 0]], forward);
    // mov [rbx+rcx],rax; mov rax,[rbx+rcx]
    takes(&[&[0x48, 0x89, 0x04, 0x0b], &[0x48, 0x8b, 0x04, 0x0b]], forward);
    // mov [rbx],eax; movsxd rax,[rbx]
    takes(&[&[0x89, 0x03], &[0x48, 0x63, 0x03]], forward + 1.0);
    // mov [rbx],ax; movzx eax,word [rbx], and of bytes
    takes(&[&[0x66, 0x89, 0x03], &[0x0f, 0xb7, 0x03]], forward);
    takes(&[&[0x88, 0x03], &[0x0f, 0xb6, 0x03]], 0.5);
    // add [rbx],rcx; inc qword [rbx]; add dword [rbx],1; add qword [rbx],1
    takes(&[&[0x48, 0x01, 0x0b]], forward + 1.0);
    takes(&[&[0x48, 0xff, 0x03]], forward + 1.0);
    takes(&[&[0x83, 0x03, 1]], forward + 1.0);
    takes(&[&[0x48, 0x83, 0x03, 1]], 1.0);
    // mov [rbx],rax; mov rax,[rcx]: natively 500 such pairs take 251 cycles
    takes(&[&[0x48, 0x89, 0x03], &[0x48, 0x8b, 0x01]], 0.5);
    // mov [rbx],rax; mov eax,[rbx+4]
    let upper: [&[u8]; 2] = [&[0x48, 0x89, 0x03], &[0x8b, 0x43, 0x04]];
    near(cycles("raptor-cove", &upper, &mut |n| 0x1000 + n % 2 * 4), forward);
}

/// Rounds of a string instruction that writes so many single bytes, and of a load at this address. The registers are set
/// anew, or what is loaded is where the next one writes.
fn strings(core: &str, size: u64, load: u64, is_chained: bool) -> f64 {
    let processor = Processor::named(core).unwrap();
    let mut code = Code::new(&processor).unwrap();
    // mov rcx,rdx; rep stosb; mov rax,[rbx]; mov rdi,rsi or mov rdi,rax; jmp to the beginning
    let register = if is_chained { 0xc7 } else { 0xf7 };
    let round = [0x48, 0x89, 0xd1, 0xf3, 0xaa, 0x48, 0x8b, 0x03, 0x48, 0x89, register, 0xeb, 0xf3];
    code.add(0, 0, &round, START);
    let access = |address, size, unit, writes: bool| [Access { address, size, unit, reads: !writes, writes }];
    let accesses = [access(0x10_0000, size, 1, true), access(load, 8, 8, false)];
    let run = |rounds: u32| {
        let mut core = Core::new(&processor, &code, |_: &Record| {});
        for n in 0..5 * rounds {
            let accesses = match n % 5 {
                1 => &accesses[0][..],
                2 => &accesses[1],
                _ => &[],
            };
            core.step(&code, n % 5, accesses);
        }
        core.finish().1.cycles
    };
    (run(300) - run(100)) as f64 / 200.0
}

#[test]
fn string_instructions_wait_for_one_another() {
    // What is moved, or µops: 32 cycles and 128 bytes in each.
    near(strings("raptor-cove", 8192, 0x1000, false), 8192.0 / 64.0);
    near(strings("raptor-cove", 1024, 0x1000, false), 32.0 + 1024.0 / 128.0);
    near(strings("raptor-cove", 64, 0x1000, false), 9.0);
    near(strings("zen-1", 4096, 0x1000, false), 70.0 + 4096.0 / 16.0);
}

#[test]
fn loads_wait_for_what_string_instructions_write() {
    let loads = Processor::named("raptor-cove").unwrap().loads;
    let last = 32.0 + 1024.0 / 64.0 + (5 + loads.blocked) as f64;
    near(strings("raptor-cove", 1024, 0x10_0000 + 1016, true), last);
    // The first bytes are there a cycle after the first of them; it has µops for longer.
    near(strings("raptor-cove", 1024, 0x10_0000, true), last - 15.0);
    near(strings("raptor-cove", 1024, 0x10_0000 + 1024, true), 32.0 + 1024.0 / 128.0);
}

#[test]
fn lines_are_thrown_out_of_all_caches() {
    // clflush [rbx]; mov rax,[rbx]
    let body: [&[u8]; 2] = [&[0x0f, 0xae, 0x3b], &[0x48, 0x8b, 0x03]];
    let processor = Processor::named("raptor-cove").unwrap();
    let one =
        |address: fn(u64) -> u64| Loop { body: &body, unroll: 1 }.totals(&processor, 50, &mut |n| address(n));
    let (same, another) = (one(|_| 0x1000), one(|n| 0x1000 + n % 2 * 0x2000));
    assert_eq!((same.loads, same.missed_last), (50, 50));
    assert_eq!((another.loads, another.missed_last), (50, 1));
}

#[test]
fn accesses_across_lines_take_two_turns() {
    let load: &[u8] = &[0x48, 0x8b, 0x03]; // mov rax,[rbx]
    let store: &[u8] = &[0x48, 0x89, 0x03]; // mov [rbx],rax
    near(cycles("zen-4", &[load], &mut |_| 0x1000), 1.0 / 3.0);
    near(cycles("zen-4", &[load], &mut |_| 0x103c), 2.0 / 3.0);
    near(cycles("zen-4", &[store], &mut |_| 0x1000), 0.5);
    near(cycles("zen-4", &[store], &mut |_| 0x103c), 2.0);
    // Their second parts have one port, and stores go into the cache one by one: into each line, and slower across pages.
    near(cycles("raptor-cove", &[load], &mut |_| 0x103c), 1.0);
    near(cycles("raptor-cove", &[load], &mut |_| 0x1ffc), 3.0);
    near(cycles("raptor-cove", &[store], &mut |n| 0x103c + n % 4 * 64), 2.0);
    near(cycles("raptor-cove", &[store], &mut |_| 0x1ffc), 24.0);
}

#[test]
fn misses_in_flight_are_limited() {
    let load: &[u8] = &[0x48, 0x8b, 0x03]; // mov rax,[rbx]
    let mut processor = Processor::named("boom-4w-tip").unwrap();
    processor.translation.page = 1 << 30;
    processor.memory.data.prefetch.clear();
    // So that only the first level's miss registers are short.
    processor.memory.line_cycles = 0.0;
    processor.memory.last.misses = 64;
    processor.memory.second.as_mut().unwrap().misses = 64;
    let loads = Loop { body: &[load], unroll: 50 };
    let latency = processor.memory.latency as f64;
    for misses in [2, 4, 8] {
        processor.memory.data.misses = misses;
        let got = loads.cycles(&processor, &mut |n| n * 64);
        assert!((got - latency / misses as f64).abs() < 0.1 * latency / misses as f64, "{misses}: {got}");
    }
}

#[test]
fn memory_has_a_bandwidth() {
    let load: &[u8] = &[0x48, 0x8b, 0x03]; // mov rax,[rbx]
    let mut processor = Processor::named("raptor-cove").unwrap();
    processor.translation.page = 1 << 30;
    processor.memory.line_cycles = 40.0;
    let got = Loop { body: &[load], unroll: 50 }.cycles(&processor, &mut |n| n * 64);
    near(got, 40.0);
}

#[test]
fn prefetched_lines_are_not_waited_for() {
    let prefetch: &[u8] = &[0x0f, 0x18, 0x08]; // prefetcht0 [rax], which cannot run ahead of the loads either
    let mut processor = Processor::named("boom-4w-tip").unwrap();
    processor.translation.page = 1 << 30;
    processor.memory.data.prefetch.clear();
    let latency = processor.memory.latency as f64;
    let pairs = Loop { body: &[prefetch, LOAD_CHAIN], unroll: 50 };
    // Lines far from each other; the prefetch is of the same, or of one that is loaded four rounds later.
    let taken = |ahead: u64| pairs.cycles(&processor, &mut |n| (n / 2 + (n + 1) % 2 * ahead) * 797 * 64);
    let (late, early) = (taken(0), taken(4));
    assert!(late > latency && early < 0.4 * late, "{late} and {early} cycles");
}

#[test]
fn instructions_of_others_disturb_no_strides() {
    // mov rax,[rbx]; jmp to so many bytes behind: mov rcx,[rdx]; jmp back. Each load has strides of its own.
    let cycles = |apart: i32, others: usize| {
        let processor = Processor::named("raptor-cove").unwrap();
        let mut code = Code::new(&processor).unwrap();
        let block = |load: [u8; 3], jump: i32| [&load[..], &[0xe9], &(jump - 8).to_le_bytes()].concat();
        let first = code.add(0, 0, &block([0x48, 0x8b, 3], apart), START);
        code.add(1, 0, &vec![0x90; others], START);
        let second = code.add(0, 1, &block([0x48, 0x8b, 0x0a], -apart), START + apart as u64);
        let mut core = Core::new(&processor, &code, |_: &Record| {});
        for round in 0..5_000 {
            for (number, address) in [(first, round * 192), (second, (1 << 40) + round * 320)] {
                let load = Access { address, size: 8, unit: 8, reads: true, writes: false };
                core.step(&code, number, &[load]);
                core.step(&code, number + 1, &[]);
            }
        }
        core.finish().1.cycles
    };
    let alone = cycles(64, 0);
    assert!((250..260).all(|others| cycles(64, others) == alone));
    assert!(cycles(256, 0) > alone, "those whose addresses share a place do");
}

#[test]
fn loads_learn_to_wait_for_stores() {
    // imul rbx,rbx; mov [rbx],rcx; mov rax,[rsi]: the store's address comes late
    let body: [&[u8]; 3] = [&[0x48, 0x0f, 0xaf, 0xdb], &[0x48, 0x89, 0x0b], &[0x48, 0x8b, 0x06]];
    let processor = Processor::named("zen-4").unwrap();
    let totals = Loop { body: &body, unroll: 50 }.totals(&processor, 20, &mut |_| 0x1000);
    // Each of the fifty static loads once.
    assert_eq!(totals.violations, 50);
}
