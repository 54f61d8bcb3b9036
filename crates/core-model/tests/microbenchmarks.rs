//! Small loops whose cycles follow from the processor's record by hand.

mod loops;

use loops::{ADD, Loop, START};
use timewise_core_model::{Code, Core, Processor};
use timewise_replay::Access;
use timewise_trace::Record;

impl Loop<'_> {
    /// Cycles for one repetition of the body, once all is warm.
    fn cycles(&self, processor: &Processor, address: &mut dyn FnMut(u64) -> u64) -> f64 {
        let some = self.totals(processor, 40, address).cycles;
        let more = self.totals(processor, 100, address).cycles;
        (more - some) as f64 / (60 * self.unroll) as f64
    }
}

fn cycles(core: &str, body: &[&[u8]], address: &mut dyn FnMut(u64) -> u64) -> f64 {
    Loop { body, unroll: 50 }.cycles(&Processor::named(core).unwrap(), address)
}

#[track_caller]
fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 0.03 * expected + 0.01, "{got} cycles, expected {expected}");
}

const LOAD_CHAIN: &[u8] = &[0x48, 0x8b, 0x00]; // mov rax,[rax]
const NOP: &[u8] = &[0x90];
/// nop of two, three, four and eight bytes.
const NOP_2: &[u8] = &[0x66, 0x90];
const NOP_3: &[u8] = &[0x0f, 0x1f, 0x00];
const NOP_4: &[u8] = &[0x0f, 0x1f, 0x40, 0x00];
const NOP_8: &[u8] = &[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00];

#[test]
fn dependent_additions_take_a_cycle_each() {
    for core in timewise_core_model::names() {
        near(cycles(core, &[ADD], &mut |_| 0), 1.0);
    }
}

#[test]
fn nops_are_limited_by_dispatch() {
    near(cycles("boom-4w-tip", &[NOP], &mut |_| 0), 1.0 / 4.0);
    // Two of them are one entry where both have 15 bytes at most.
    near(cycles("zen-4", &[NOP], &mut |_| 0), 1.0 / 12.0);
    near(cycles("zen-4", &[NOP_8], &mut |_| 0), 1.0 / 6.0);
    near(cycles("zen-5", &[NOP_8], &mut |_| 0), 1.0 / 8.0);
    near(cycles("raptor-cove", &[NOP], &mut |_| 0), 1.0 / 6.0);
    near(cycles("zen-1", &[NOP], &mut |_| 0), 1.0 / 5.0);
    // Six entries of five instructions, one of which has both halves of a wide vector: vandps ymm2,ymm1,ymm0
    near(cycles("zen-1", &[&[0xc5, 0xf4, 0x54, 0xd0], NOP, NOP, NOP, NOP], &mut |_| 0), 1.0);
}

/// On Zen a comparison is fused with a branch, and a subtraction is not.
#[test]
fn what_is_not_fused_takes_an_entry() {
    // cmp ebx,0; sub ebx,0; je to the next instruction
    let [compared, subtracted, branch]: [&[u8]; 3] =
        [&[0x83, 0xfb, 0x00], &[0x83, 0xeb, 0x00], &[0x74, 0x00]];
    let eight = [NOP; 8];
    for (first, expected) in [(compared, 9.0 / 5.0), (subtracted, 10.0 / 5.0)] {
        let body: Vec<&[u8]> = [first, branch].into_iter().chain(eight).collect();
        near(cycles("zen-1", &body, &mut |_| 0), expected);
    }
}

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

/// Of jumps 64 bytes from one another the first level of the branch target buffer has 32, and each costs a cycle.
#[test]
fn jumps_at_large_distances_share_few_places() {
    // nop of 15 bytes; jmp to the next instruction
    let nop: &[u8] =
        &[0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00];
    let line: [&[u8]; 6] = [nop, nop, nop, nop, NOP_2, &[0xeb, 0x00]];
    let processor = Processor::named("zen-1").unwrap();
    for (jumps, expected) in [(32, 2.0), (96, 5.0)] {
        near(Loop { body: &line, unroll: jumps }.cycles(&processor, &mut |_| 0), expected);
    }
}

#[test]
fn taken_branches_are_limited_by_pieces_of_decoded_code() {
    // jmp to the next instruction; five nop of twelve bytes, behind which the loop's own jump ends in the next line
    let jump: &[u8] = &[0xeb, 0x00];
    let long: &[u8] = &[0x66, 0x66, 0x66, 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00];
    for (core, pieces) in [("zen-4", 1.0), ("zen-5", 2.0)] {
        near(cycles(core, &[jump], &mut |_| 0), 1.0 / pieces);
        let across = Loop { body: &[long; 5], unroll: 1 };
        near(across.cycles(&Processor::named(core).unwrap(), &mut |_| 0), 2.0 / pieces);
    }
}

/// Of eight jumps in a line with a nop behind each, the last nop goes on into the next line: two at a time, but that.
#[test]
fn what_goes_on_into_the_next_line_has_its_cycle_alone() {
    // jmp to the next instruction; nop of six bytes
    let body: [&[u8]; 2] = [&[0xeb, 0x00], &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00]];
    let jumps = Loop { body: &body, unroll: 64 };
    near(jumps.cycles(&Processor::named("zen-5").unwrap(), &mut |_| 0), 5.0 / 8.0);
}

/// Of a line, two entries of six decoded instructions are there in a cycle, and two more each other cycle; an entry goes on
/// into the next line.
#[test]
fn more_of_a_line_of_decoded_code_takes_two_cycles() {
    let processor = Processor::named("zen-5").unwrap();
    let takes = |nop: &[u8], nops: usize, expected: f64| {
        let round = Loop { body: &vec![nop; nops], unroll: 1 };
        near(round.cycles(&processor, &mut |_| 0), expected);
    };
    // With the jump, one more instruction than said.
    for (nops, expected) in [(11, 1.5), (12, 3.0), (19, 3.0)] {
        takes(NOP_3, nops, expected);
    }
    for (nops, expected) in [(24, 5.0), (29, 5.0)] {
        takes(NOP_2, nops, expected);
    }
    takes(NOP, 36, 7.0);
    // Lines of sixteen, and the jump in a line of its own. Each line's last entry takes two, and then four, from the
    // next, so that the third has but twelve.
    for (nops, expected) in [(16, 4.0), (32, 7.0), (48, 8.0), (64, 11.0), (80, 14.0), (96, 15.0)] {
        takes(NOP_4, nops, expected);
    }
}

/// Schedulers that get µops at dispatch, by chance, do not always have one for each port.
#[test]
fn additions_that_are_distributed_wait_for_one_another() {
    // add eax,ebx; add ecx,ebx; add edx,ebx; add esi,ebx
    let adds: [&[u8]; 4] = [&[0x01, 0xd8], &[0x01, 0xd9], &[0x01, 0xda], &[0x01, 0xde]];
    let mut processor = Processor::named("zen-1").unwrap();
    let chains = Loop { body: &adds, unroll: 25 };
    let distributed = chains.cycles(&processor, &mut |_| 0);
    assert!((1.1..1.35).contains(&distributed), "{distributed} cycles");
    processor.backend.distributes = false;
    for queue in &mut processor.backend.queues {
        queue.entries = 56;
    }
    near(chains.cycles(&processor, &mut |_| 0), 1.0);
}

#[test]
fn independent_additions_are_limited_by_ports() {
    // add eax,ebx; add ecx,ebx; add edx,ebx; add esi,ebx; add edi,ebx
    let adds: [&[u8]; 5] = [&[0x01, 0xd8], &[0x01, 0xd9], &[0x01, 0xda], &[0x01, 0xde], &[0x01, 0xdf]];
    near(cycles("zen-4", &adds, &mut |_| 0), 5.0 / 4.0);
    near(cycles("raptor-cove", &adds, &mut |_| 0), 1.0);
    // imul eax,ebx and four more: one port
    let muls: [&[u8]; 5] = [
        &[0x0f, 0xaf, 0xc3],
        &[0x0f, 0xaf, 0xcb],
        &[0x0f, 0xaf, 0xd3],
        &[0x0f, 0xaf, 0xf3],
        &[0x0f, 0xaf, 0xfb],
    ];
    near(cycles("zen-4", &muls, &mut |_| 0), 5.0);
}

#[test]
fn loads_in_a_chain_take_the_latency_of_the_first_level() {
    for core in timewise_core_model::names() {
        let latency = Processor::named(core).unwrap().memory.data.latency as f64;
        near(cycles(core, &[LOAD_CHAIN], &mut |_| 0x1000), latency);
    }
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
    // mov [rbx],rax; mov rax,[rcx]
    let pair: [&[u8]; 2] = [&[0x48, 0x89, 0x03], &[0x48, 0x8b, 0x01]];
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
    takes(&[&[0x89, 0x03], &[0x48, 0x63, 0x03]], forward);
    // mov [rbx],ax; movzx eax,word [rbx], and of bytes
    takes(&[&[0x66, 0x89, 0x03], &[0x0f, 0xb7, 0x03]], forward);
    takes(&[&[0x88, 0x03], &[0x0f, 0xb6, 0x03]], 0.5);
    // add [rbx],rcx; add qword [rbx],1
    takes(&[&[0x48, 0x01, 0x0b]], forward + 1.0);
    takes(&[&[0x48, 0x83, 0x03, 1]], 1.0);
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

/// Instructions that nothing else waits for take their time one after another.
#[test]
fn clocks_and_fences_of_stores_are_not_pipelined() {
    let (clock, fence): (&[u8], &[u8]) = (&[0x0f, 0x31], &[0x0f, 0xae, 0xf8]);
    for core in ["zen-1", "zen-4", "raptor-cove"] {
        let orders = Processor::named(core).unwrap().backend.orders;
        near(cycles(core, &[clock], &mut |_| 0), orders.clock.latency as f64);
    }
    near(cycles("raptor-cove", &[fence], &mut |_| 0), 5.0);
    // Each waits for those of its own kind.
    near(cycles("raptor-cove", &[fence, clock], &mut |_| 0), 46.0);
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
fn what_is_added_to_half_a_register_is_computed() {
    let takes = |one: &[u8], expected| near(cycles("raptor-cove", &[one], &mut |_| 0), expected);
    takes(&[0x48, 0x83, 0xc0, 1], 1.0 / 6.0); // add rax,1
    takes(&[0x48, 0x8d, 0x40, 1], 1.0 / 6.0); // lea rax,[rax+1]
    takes(&[0x83, 0xc0, 1], 1.0); // add eax,1
    takes(&[0xff, 0xc0], 1.0); // inc eax
    takes(&[0x0f, 0xb6, 0xc0], 1.0); // movzx eax,al
}

#[test]
fn leas_of_registers_go_where_additions_do() {
    let takes = |body: &[&[u8]], expected| near(cycles("raptor-cove", body, &mut |_| 0), expected);
    takes(&[&[0x48, 0x8d, 0x44, 0x0b, 8]], 1.0 / 5.0); // lea rax,[rbx+rcx+8]
    takes(&[&[0x48, 0x8d, 0x44, 0xcb, 8]], 1.0 / 3.0); // lea rax,[rbx+8*rcx+8]
    takes(&[&[0x48, 0x8d, 0x04, 0xc0]], 2.0); // lea rax,[rax+8*rax]
    takes(&[&[0x48, 0x8d, 0x05, 0, 0, 0, 0]], 1.0); // lea rax,[rip]
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
fn addresses_of_several_parts_take_a_cycle() {
    let simple: &[u8] = &[0x48, 0x8b, 0x04, 0x03]; // mov rax,[rbx+rax]
    let scaled: &[u8] = &[0x48, 0x8b, 0x04, 0xc3]; // mov rax,[rbx+8*rax]
    let three: &[u8] = &[0x48, 0x8b, 0x44, 0x03, 8]; // mov rax,[rbx+rax+8]
    near(cycles("zen-4", &[simple], &mut |_| 0x1000), 4.0);
    near(cycles("zen-4", &[scaled], &mut |_| 0x1000), 5.0);
    near(cycles("zen-4", &[three], &mut |_| 0x1000), 5.0);
}

#[test]
fn a_computed_stack_pointer_waits_for_pushes() {
    // push rcx; sub rsp,24; add rsp,24; pop rcx
    let body: [&[u8]; 4] = [&[0x51], &[0x48, 0x83, 0xec, 24], &[0x48, 0x83, 0xc4, 24], &[0x59]];
    near(cycles("zen-4", &body, &mut |_| 0x1000), 3.0);
    near(cycles("zen-4", &body[1..3], &mut |_| 0x1000), 2.0);
}

#[test]
fn a_wrong_path_asks_for_lines_of_the_right_one() {
    // 0: mov rax,[rbx]; test rax,rax; je +3; add rcx,rbx; mov rdx,[rsi]; jmp 0: whether it branches is told by a line
    // that comes late, what the second load needs is known early.
    let bytes = [0x48, 0x8b, 3, 0x48, 0x85, 0xc0, 0x74, 3, 0x48, 1, 0xd9, 0x48, 0x8b, 0x16, 0xeb, 0xf0];
    let run = |wrong_path: usize| {
        let mut processor = Processor::named("zen-4").unwrap();
        processor.branches.wrong_path = wrong_path;
        processor.memory.data.prefetch.clear();
        processor.memory.second.as_mut().unwrap().prefetch.clear();
        let mut code = Code::new(&processor).unwrap();
        code.add(0, 0, &bytes, START);
        let own = 0..code.len() as u32;
        // Another program has returns there, which no wrong path of this one comes to.
        code.add(1, 0, &[0xc3; 16], START);
        let mut core = Core::new(&processor, &code, |_: &Record| {});
        core.meet(&code, own);
        let mut state = 1u64;
        for _ in 0..5_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let read = |core: &mut Core<_>, number, address| {
                let access = Access { address, size: 8, unit: 8, reads: true, writes: false };
                core.step(&code, number, &[access]);
            };
            read(&mut core, 0, state >> 40 << 6);
            core.step(&code, 1, &[]);
            core.step(&code, 2, &[]);
            if state >> 63 == 0 {
                core.step(&code, 3, &[]);
            }
            read(&mut core, 4, (state >> 20 & 0xff_ffff) << 6 | 1 << 40);
            core.step(&code, 5, &[]);
        }
        core.finish().1
    };
    let (without, with) = (run(0), run(64));
    assert_eq!(with.mispredicted, without.mispredicted);
    let hidden = (without.cycles - with.cycles) as f64 / with.mispredicted as f64;
    let latency = Processor::named("zen-4").unwrap().memory.latency as f64;
    assert!(hidden > 0.7 * latency && hidden < 1.3 * latency, "{hidden} of {latency}");
}

#[test]
fn a_divider_is_not_pipelined() {
    let independent: &[u8] = &[0xc5, 0xeb, 0x5e, 0xc1]; // vdivsd xmm0,xmm2,xmm1
    let chain: &[u8] = &[0xc5, 0xfb, 0x5e, 0xc1]; // vdivsd xmm0,xmm0,xmm1
    near(cycles("raptor-cove", &[independent], &mut |_| 0), 4.0);
    near(cycles("raptor-cove", &[chain], &mut |_| 0), 14.0);
    near(cycles("zen-4", &[independent], &mut |_| 0), 5.0);
    near(cycles("zen-4", &[chain], &mut |_| 0), 13.0);
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

/// A loop of three additions, a decrement and a branch, with so many bytes before it in its line.
fn loop_behind(core: &str, bytes: u64) -> f64 {
    let processor = Processor::named(core).unwrap();
    let mut code = Code::new(&processor).unwrap();
    // add eax,1; add ecx,2; add edx,3; dec edi; jne
    let round = [0x83, 0xc0, 1, 0x83, 0xc1, 2, 0x83, 0xc2, 3, 0xff, 0xcf, 0x75, 0xf3];
    code.add(0, 0, &round, START + bytes);
    let run = |rounds: u32| {
        let mut core = Core::new(&processor, &code, |_: &Record| {});
        (0..5 * rounds).for_each(|n| core.step(&code, n % 5, &[]));
        core.finish().1.cycles
    };
    (run(3000) - run(1000)) as f64 / 2000.0
}

#[test]
fn a_loop_across_two_lines_of_decoded_instructions_takes_a_cycle_more() {
    for core in ["zen-4", "raptor-cove"] {
        near(loop_behind(core, 0), 1.0);
        near(loop_behind(core, 25), 1.0);
        near(loop_behind(core, 57), 2.0);
    }
}

#[test]
fn a_misprediction_costs_what_the_record_says() {
    // Two loops of one branch each behind an addition: one that is always taken to the next instruction, one
    // that goes there or not as a coin falls, which is the same for what is executed.
    let processor = Processor::named("boom-4w-tip").unwrap();
    let mut code = Code::new(&processor).unwrap();
    // 0: add rax,rbx; jne +3; add rcx,rbx; jmp 0
    let bytes = [0x48, 0x01, 0xd8, 0x75, 0x03, 0x48, 0x01, 0xd9, 0xeb, 0xf6];
    code.add(0, 0, &bytes, START);
    let run = |code: &Code, coin: bool| {
        let mut core = Core::new(&processor, code, |_: &Record| {});
        let mut state = 1u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let taken = coin && state >> 40 & 1 == 1;
            core.step(code, 0, &[]);
            core.step(code, 1, &[]);
            if !taken {
                core.step(code, 2, &[]);
            }
            core.step(code, 3, &[]);
        }
        core.finish().1
    };
    let (calm, coin) = (run(&code, false), run(&code, true));
    let each = (coin.cycles - calm.cycles) as f64 / (coin.mispredicted - calm.mispredicted) as f64;
    let record = (processor.fetch.depth + processor.branches.redirect) as f64;
    // And the cycles from dispatch to execution of the branch, which nothing hides here.
    assert!(each > record && each < record + 5.0, "{each} for {record}");
}

#[test]
fn a_full_reorder_buffer_stops_dispatch() {
    // A load that misses, then so many nops that the next one does not fit in beside it.
    let load: &[u8] = &[0x48, 0x8b, 0x03]; // mov rax,[rbx]
    let mut processor = Processor::named("zen-4").unwrap();
    processor.rename.fuses_nops = None;
    processor.translation.page = 1 << 30;
    processor.memory.data.prefetch.clear();
    processor.memory.second.as_mut().unwrap().prefetch.clear();
    let latency = processor.memory.latency as f64;
    let loop_of = |nops: usize| {
        let mut body = vec![load];
        body.resize(nops + 1, NOP);
        Loop { body: &body, unroll: 4 }.cycles(&processor, &mut |n| n * 64)
    };
    let (few, many) = (loop_of(150), loop_of(330));
    assert!(few < 0.7 * latency, "two loads at a time: {few}");
    assert!(many > 0.95 * latency, "one at a time: {many}");
}

#[test]
fn serialising_instructions_cost_a_flush() {
    let mxcsr: &[u8] = &[0x0f, 0xae, 0x13]; // ldmxcsr [rbx]
    let flushed = cycles("boom-4w-tip", &[mxcsr, ADD], &mut |_| 0x1000);
    let processor = Processor::named("boom-4w-tip").unwrap();
    let least = (processor.fetch.depth + processor.commit.flush) as f64;
    assert!(flushed > least && flushed < least + 15.0, "{flushed}");
    // A fence of loads keeps additions from overlapping, but nothing is fetched again.
    let fence: &[u8] = &[0x0f, 0xae, 0xe8];
    let fenced = cycles("raptor-cove", &[fence], &mut |_| 0);
    near(fenced, 12.0 + 1.0);
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

#[test]
fn warming_leaves_traces_and_takes_no_time() {
    let processor = Processor::named("zen-4").unwrap();
    let mut code = Code::new(&processor).unwrap();
    // mov rax,[rbx]; jmp 0
    code.add(0, 0, &[0x48, 0x8b, 0x03, 0xeb, 0xfb], START);
    let missed = |warms: bool| {
        let mut core = Core::new(&processor, &code, |_: &Record| {});
        for round in 0..2 {
            for line in 0..200 {
                // In an order that no prefetcher expects.
                let address = 0x10_0000 + line * 77 % 200 * 64;
                let load = [Access { address, size: 8, unit: 8, reads: true, writes: false }];
                if warms && round == 0 {
                    core.warm(&code, 0, &load);
                    core.warm(&code, 1, &[]);
                } else {
                    core.step(&code, 0, &load);
                    core.step(&code, 1, &[]);
                }
            }
        }
        let totals = core.finish().1;
        (totals.instructions, totals.missed_first, totals.missed_tlb)
    };
    assert_eq!(missed(true), (400, 0, 0));
    let (instructions, cold, _) = missed(false);
    assert!(instructions == 800 && cold > 100, "{cold} misses");
}

#[test]
fn code_that_is_written_is_fetched_again() {
    // mov [rdi],al; jmp back: the store is to the line of both, or to data.
    let body: [&[u8]; 1] = [&[0x88, 0x07]];
    let turn = Loop { body: &body, unroll: 1 };
    let processor = Processor::named("zen-4").unwrap();
    let clear = processor.stores.code_clear.unwrap();
    let written = turn.cycles(&processor, &mut |_| START + 32);
    assert!((clear as f64..clear as f64 + 60.0).contains(&written), "{written} cycles");
    assert_eq!(turn.totals(&processor, 100, &mut |_| START + 32).rewritten, 100);
    assert_eq!(turn.totals(&processor, 100, &mut |_| START + 64).rewritten, 0);
    near(turn.cycles(&processor, &mut |_| START + 64), 1.0);
    let mut without = processor.clone();
    without.stores.code_clear = None;
    near(turn.cycles(&without, &mut |_| START + 32), 1.0);
    // Five stores to the line behind them are three times two, if two are taken at a time.
    let long: &[u8] = &[0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00];
    let ahead: Vec<&[u8]> = [&[body[0]; 5][..], &[long; 7]].concat();
    let ahead = Loop { body: &ahead, unroll: 1 };
    let mut by_twos = processor.clone();
    by_twos.stores.code_clear_stores = Some(2);
    let [all, by_twos] = [&processor, &by_twos].map(|core| ahead.cycles(core, &mut |_| START + 66));
    let more = 2.0 * clear as f64;
    assert!((more..more + 60.0).contains(&(by_twos - all)), "{by_twos} and {all} cycles");
}

#[test]
fn legacy_instructions_that_zero_vectors_take_ports() {
    // pxor xmm1,xmm1; vpxor xmm1,xmm1,xmm1
    let [legacy, vex]: [&[u8]; 2] = [&[0x66, 0x0f, 0xef, 0xc9], &[0xc5, 0xf1, 0xef, 0xc9]];
    near(cycles("zen-4", &[legacy], &mut |_| 0), 1.0 / 4.0);
    near(cycles("zen-4", &[vex], &mut |_| 0), 1.0 / 6.0);
    near(cycles("raptor-cove", &[legacy], &mut |_| 0), 1.0 / 6.0);
    // Zen 5 removes both, and renames fewer vector registers than entries.
    near(cycles("zen-5", &[legacy], &mut |_| 0), 1.0 / 6.0);
    near(cycles("zen-5", &[vex, NOP_8], &mut |_| 0), 2.0 / 8.0);
}

#[test]
fn the_same_input_gives_the_same_cycles() {
    let body: [&[u8]; 3] = [ADD, LOAD_CHAIN, &[0x48, 0x89, 0x03]];
    let processor = Processor::named("raptor-cove").unwrap();
    let run = || Loop { body: &body, unroll: 50 }.totals(&processor, 50, &mut |n| n * 4096 % 100_003);
    assert_eq!(run(), run());
}

#[test]
fn full_fences_wait_for_one_another() {
    let fence: &[u8] = &[0x0f, 0xae, 0xf0];
    for core in ["zen-4", "raptor-cove"] {
        let record = Processor::named(core).unwrap().backend.orders.full_fence;
        near(cycles(core, &[fence], &mut |_| 0), record.latency as f64);
    }
}
