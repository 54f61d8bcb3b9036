//! Small loops whose cycles follow from the processor's record by hand.

use crate::loops::{ADD, LOAD_CHAIN, Loop, NOP, NOP_2, NOP_3, NOP_4, NOP_8, START, cycles, near};
use timewise_core_model::{Code, Core, Processor};
use timewise_replay::Access;
use timewise_trace::Record;

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

/// Where prediction is ahead of fetch, only its own pace tells what jumps cost.
#[test]
fn what_prediction_loses_costs_nothing_where_it_is_ahead() {
    let processor = Processor::named("raptor-cove").unwrap();
    // nop of fifteen, seven and six bytes; jmp to the next instruction
    let fifteen: &[u8] =
        &[0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00];
    let seven: &[u8] = &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00];
    let six: &[u8] = &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00];
    let jump: &[u8] = &[0xeb, 0x00];
    let short = [fifteen, fifteen, fifteen, fifteen, NOP_2, jump];
    let long = [seven, seven, seven, seven, seven, seven, seven, seven, six, jump];
    let takes = |line: &[&[u8]], lines: usize, expected: f64| {
        near(Loop { body: line, unroll: lines }.cycles(&processor, &mut |_| 0), expected);
    };
    // Those that are nearest cost no cycle, of which there are 128; others one.
    takes(&short, 100, 1.0);
    takes(&short, 200, 2.0);
    takes(&long, 100, 10.0 / 6.0);
    takes(&long, 200, 2.0);
}

/// What the decoders leave of a packet they take with the next.
#[test]
fn decoders_go_on_into_the_next_packet() {
    let mut processor = Processor::named("raptor-cove").unwrap();
    processor.op_cache = None;
    let nops = Loop { body: &[NOP_4; 16], unroll: 16 };
    near(nops.cycles(&processor, &mut |_| 0), 16.0 / 6.0);
    processor.fetch.pieces = 1;
    near(nops.cycles(&processor, &mut |_| 0), 4.0);
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

/// What can go to one scheduler alone is never waited for by what can go to others.
#[test]
fn what_has_a_choice_leaves_a_port_to_what_has_none() {
    // cvttsd2si eax,xmm0: one port, and that or another; natively eight take 8.0 cycles
    near(cycles("raptor-cove", &[&[0xf2, 0x0f, 0x2c, 0xc0]], &mut |_| 0), 1.0);
}

#[test]
fn independent_additions_are_limited_by_ports() {
    // add eax,ebx; add ecx,ebx; add edx,ebx; add esi,ebx; add edi,ebx
    let adds: [&[u8]; 5] = [&[0x01, 0xd8], &[0x01, 0xd9], &[0x01, 0xda], &[0x01, 0xde], &[0x01, 0xdf]];
    near(cycles("zen-4", &adds, &mut |_| 0), 5.0 / 4.0);
    // Natively 1.20, as their ports are chosen before they are ready.
    let distributed = cycles("raptor-cove", &adds, &mut |_| 0);
    assert!((1.1..1.3).contains(&distributed), "{distributed} cycles");
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
    near(loop_behind("zen-4", 0), 1.0);
    near(loop_behind("zen-4", 25), 1.0);
    // Natively 1.0 to 1.45, and across lines, for which prediction comes twice, 1.0 or 2.0.
    let within = [0, 25].map(|bytes| loop_behind("raptor-cove", bytes));
    assert!(within.iter().all(|cycles| (1.0..1.2).contains(cycles)), "{within:?} cycles");
    for core in ["zen-4", "raptor-cove"] {
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
