//! A profile that is true passes every check; each thing that can be wrong is found by its own.

use std::collections::BTreeMap;
use timewise_flow::sketch::sketch;
use timewise_flow::verify::{FileCode, Kind, Verdict, verify};
use timewise_flow::{Analysis, Policy};
use timewise_profile::{
    CommitState, CoreEvents, ModuleId, Offset, Place, ProcessId, Profile, RunId, SimulatedInstruction,
    SimulatedPart, SimulatedThread, SimulatedThreadId, SimulatedWindow, Simulation, SimulationId,
    StackComponent, TakenBranch, ThreadId,
};

/// `main` calls `leaf` ten times in a loop; code as an assembler would have it.
const LOOP: &str = "
    function main at 0x1000 size 0x20 file a.c line 3
    function leaf at 0x1020 size 0x10 file a.c line 1
    block entry at 0x1000 runs 1 code b90a000000            # mov ecx, 10
    block head at 0x1005 runs 10 code e816000000            # call leaf
    block latch at 0x100a runs 10 code ffc9 75f7            # dec ecx; jne head
    block end at 0x100e runs 1 code c3                      # ret
    block leaf at 0x1020 runs 10 code 90 c3                 # nop; ret
    edge - -> entry external 1
    edge entry -> head fallthrough 1
    edge head -> leaf call 10
    edge leaf -> latch return 10
    edge latch -> head branch 9
    edge latch -> end fallthrough 1
    edge end -> - return 1
    cost head -> leaf 20
    sample 0x1020 3
    sample 0x3000 1
";

/// The file that the blocks are from.
struct Code(Vec<u8>);

impl FileCode for Code {
    fn code(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(0x1000)?).ok()?;
        self.0.get(start..start.checked_add(length)?)
    }
}

fn file() -> Vec<u8> {
    let mut code = vec![0xb9, 10, 0, 0, 0, 0xe8, 0x16, 0, 0, 0, 0xff, 0xc9, 0x75, 0xf7, 0xc3];
    code.resize(0x20, 0xcc);
    code.extend([0x90, 0xc3]);
    code
}

fn verdict(profile: &Profile, file: Vec<u8>) -> Verdict {
    let files = BTreeMap::from([(ModuleId(0), Box::new(Code(file)) as Box<dyn FileCode>)]);
    verify(&Analysis::new(profile, Some(Policy::Sampled)), &files)
}

fn good() -> Profile {
    let mut profile = sketch(LOOP).unwrap();
    profile.threads[1].instructions = Some(1 + 10 + 20 + 1 + 20);
    profile
}

/// The findings of a good profile after `damage`, as `kind: words`.
fn found(damage: impl FnOnce(&mut Profile)) -> Vec<String> {
    let mut profile = good();
    damage(&mut profile);
    assert_eq!(profile.check(), Ok(()), "what cannot even be loaded tests nothing");
    words(&verdict(&profile, file()))
}

fn words(verdict: &Verdict) -> Vec<String> {
    let line = |kind: Kind, what: &str| format!("{kind:?}: {what}");
    let of = |check: &timewise_flow::verify::Check| {
        check.findings.iter().map(|finding| line(check.kind, &finding.what)).collect::<Vec<_>>()
    };
    verdict.checks.iter().flat_map(of).collect()
}

#[test]
fn a_true_profile_passes_and_everything_was_looked_at() {
    let verdict = verdict(&good(), file());
    assert_eq!(words(&verdict), [""; 0]);
    assert!(verdict.is_consistent());
    let checked: Vec<(Kind, u64)> = verdict.checks.iter().map(|check| (check.kind, check.checked)).collect();
    let expected = [5, 5, 5, 7, 1, 2, 0, 3, 0];
    assert_eq!(checked, Kind::ALL.into_iter().zip(expected).collect::<Vec<_>>());
}

#[test]
fn a_wrong_count_breaks_the_flow_and_the_sums() {
    let found = found(|profile| profile.block_counts[1].executions += 1);
    assert_eq!(
        found,
        [
            "Conservation: entered 10, executed 11, left 10",
            "Totals: blocks executed 53 instructions, threads 52",
        ]
    );
}

/// Ten instructions that a simulation saw commit in 40 cycles, by a thread and in a stack.
fn simulated(profile: &mut Profile) {
    let (run, core, part) = (RunId(1), "toy-core".to_string(), SimulatedPart::ALL);
    let (simulation, thread, place) = (SimulationId(0), ThreadId(1), profile.blocks[0].place);
    let (instructions, cycles, executable) = (10, 40, Vec::new());
    profile.simulations.push(Simulation {
        run,
        core,
        core_hash: 1,
        part,
        executed: Some(12),
        instructions,
        cycles,
    });
    profile.simulated_threads.push(SimulatedThread {
        simulation,
        thread,
        image: 0,
        executable,
        instructions,
        cycles,
    });
    for block in &profile.blocks[..2] {
        profile.simulated_instructions.push(SimulatedInstruction {
            simulation,
            place: block.place,
            executions: 5,
        });
    }
    let (state, events, parts) =
        (CommitState::Computing, CoreEvents(0), cycles * StackComponent::PARTS_OF_A_CYCLE);
    profile.cycle_stacks.push(StackComponent { simulation, place, state, events, parts });
}

#[test]
fn instructions_that_never_commit_in_a_simulation_are_found() {
    let executed = |instructions, uncertainty| {
        move |profile: &mut Profile| {
            simulated(profile);
            profile.simulations[0].instructions = instructions;
            profile.simulated_threads[0].instructions = instructions;
            profile.processes[1].count_uncertainty = uncertainty;
        }
    };
    let wrong = |instructions| {
        vec![format!("Totals: toy-core executed {instructions} instructions, of which 10 committed")]
    };
    assert_eq!(found(executed(10, 0)), [""; 0]);
    assert_eq!(found(executed(11, 0)), wrong(11));
    assert_eq!(found(executed(11, 1)), [""; 0]);
    assert_eq!(found(executed(9, 1)), wrong(9));
}

#[test]
fn cycles_that_do_not_add_up_are_found() {
    let stacks = |uncertainty, parts| {
        move |profile: &mut Profile| {
            simulated(profile);
            profile.processes[1].count_uncertainty = uncertainty;
            profile.cycle_stacks[0].parts = parts;
        }
    };
    let wrong = |shown| vec![format!("Totals: toy-core took 40 cycles, all stacks together {shown}")];
    assert_eq!(found(stacks(0, 39 * 840)), wrong("39"));
    assert_eq!(found(stacks(1, 39 * 840)), [""; 0]);
    assert_eq!(found(stacks(1, 40 * 840 + 420)), wrong("40.5"));
    let threads = found(|profile| {
        simulated(profile);
        profile.simulated_threads[0].cycles = 20;
        profile.simulated_threads[0].instructions = 11;
    });
    assert_eq!(
        threads,
        [
            "Totals: toy-core: 10 instructions, all threads together 11",
            "Totals: toy-core: 40 cycles, all threads together 20",
        ]
    );
}

#[test]
fn windows_that_do_not_add_up_are_found() {
    let windows = |cycles: [u64; 2]| {
        move |profile: &mut Profile| {
            simulated(profile);
            profile.simulated_windows.extend(cycles.map(|cycles| SimulatedWindow {
                thread: SimulatedThreadId(0),
                first_instruction: 0,
                instructions: 5,
                cycles,
            }));
        }
    };
    assert_eq!(found(windows([10, 30])), [""; 0]);
    assert_eq!(
        found(windows([10, 31])),
        ["Totals: simulated thread 0: 10 instructions in 40 cycles, all windows together 10 in 41"]
    );
}

#[test]
fn what_the_profile_says_is_uncertain_is_no_contradiction() {
    let off_by = |executions| {
        move |profile: &mut Profile| {
            profile.processes[1].count_uncertainty = 1;
            profile.edge_counts[0].count += executions;
        }
    };
    assert_eq!(found(off_by(1)), [""; 0]);
    assert_eq!(found(off_by(2)), ["Conservation: entered 3, executed 1, left 1"]);
}

#[test]
fn code_must_be_whole_instructions_of_which_the_last_leaves() {
    let cut = found(|profile| profile.blocks[0].code.truncate(4));
    assert_eq!(cut[0], "Decoding: its bytes from +0x0 on are no instruction");
    let long = found(|profile| profile.blocks[2].instructions = 3);
    assert_eq!(long[0], "Decoding: has 2 instructions, but says 3");
    let past = found(|profile| {
        profile.blocks[2].code.push(0xc3);
        profile.blocks[2].instructions = 3;
    });
    assert_eq!(past[0], "Decoding: its instruction at +0x2 leads elsewhere, but is not its last");
}

#[test]
fn code_must_stand_in_the_file() {
    let mut other = file();
    other[0] = 0xba;
    let said = words(&verdict(&good(), other));
    assert_eq!(said, ["Files: other code than was executed stands there in the file"]);
    let short = file()[..0x20].to_vec();
    assert_eq!(words(&verdict(&good(), short)), ["Files: the file has no code there"]);
    let moved = found(|profile| profile.blocks[3].place.offset = Offset(0x100f));
    assert!(
        moved.contains(&"Files: other code than was executed stands there in the file".into()),
        "{moved:?}"
    );
}

#[test]
fn edges_must_go_where_code_leads() {
    use timewise_profile::EdgeKind::{Call, External, Jump};
    let kind = found(|profile| profile.edge_counts[4].kind = Jump);
    assert_eq!(kind, ["Edges: a jump leaves a block that does not end so"]);
    let call = found(|profile| {
        // Two edges that change places: all sums agree.
        let (head, latch) = (profile.edge_counts[2].to, profile.edge_counts[3].to);
        (profile.edge_counts[2].to, profile.edge_counts[3].to) = (latch, head);
        profile.edge_counts[3].from = latch;
        profile.edge_counts[3].kind = Call;
    });
    assert!(
        call.contains(&"Edges: a call leads to 0x100a, but its instruction to 0x1020".into()),
        "{call:?}"
    );
    let both = found(|profile| profile.edge_counts[1].kind = External);
    assert_eq!(both, ["Edges: an external edge has a block on both sides"]);
    let nowhere = found(|profile| profile.edge_counts[0].kind = Jump);
    assert_eq!(nowhere, ["Edges: a jump comes from nowhere"]);
}

#[test]
fn traced_branches_must_be_those_of_the_code() {
    let traced = |from: u64, to: u64| {
        found(|profile| {
            let place = |offset| Place { offset: Offset(offset), ..profile.blocks[0].place };
            let (from, to, process) = (place(from), place(to), profile.block_counts[0].process);
            profile.taken_branches =
                vec![TakenBranch { process, from, to, next: None, count: 2, weight: 2000 }];
        })
    };
    // A call, a branch at the end of a loop, and the return at the end of the file.
    for (from, to) in [(0x1005, 0x1020), (0x100c, 0x1005), (0x1021, 0x100a)] {
        assert_eq!(traced(from, to), [""; 0]);
    }
    assert_eq!(traced(0x100c, 0x1000), ["Branches: leads to 0x1000, but its instruction to 0x1005"]);
    assert_eq!(traced(0x1020, 0x100a), ["Branches: was taken, but is no branch in the file"]);
    assert_eq!(traced(0x1022, 0x100a), ["Branches: was taken, but the file has no code there"]);
}

/// Of a file that no linker made, pages may be mapped anywhere: the callee lies two pages further on than the call says.
#[test]
fn a_file_that_was_not_linked_may_be_mapped_in_pieces() {
    let findings = |build_id: Vec<u8>, further: u64| {
        let mut profile = good();
        profile.modules[0].build_id = build_id;
        let callee = profile.blocks.iter_mut().find(|block| block.place.offset == Offset(0x1020)).unwrap();
        callee.place.offset = Offset(0x1020 + further);
        let (function, sample) =
            (&mut profile.functions[1].place, profile.samples[0].place.as_mut().unwrap());
        (function.offset, sample.offset) = (Offset(0x1020 + further), Offset(0x1020 + further));
        let mut code = file();
        code.resize(0x20 + further as usize, 0xcc);
        code.extend([0x90, 0xc3]);
        words(&verdict(&profile, code))
    };
    assert_eq!(findings(Vec::new(), 0x2000), [""; 0]);
    let elsewhere = |to: &str| vec![format!("Edges: a call leads to {to}, but its instruction to 0x1020")];
    assert_eq!(findings(Vec::new(), 0x1010), elsewhere("0x2030"));
    assert_eq!(findings(vec![1; 20], 0x2000), elsewhere("0x3020"));
}

#[test]
fn samples_must_begin_instructions() {
    let found = found(|profile| {
        let place = profile.samples[0].place.as_mut().unwrap();
        place.offset = Offset(0x1003);
    });
    assert_eq!(found, ["Samples: was sampled, but lies within an instruction"]);
}

#[test]
fn samples_stand_for_no_more_time_than_there_was() {
    let weighing = |weight_ns| {
        found(|profile| {
            let sample = &mut profile.samples[0];
            sample.weight_ns = weight_ns;
            let process = profile.threads[sample.thread.index()].process;
            let run = &mut profile.runs[profile.processes[process.index()].run.index()];
            (run.elapsed_ns, run.machine.cpus) = (1_000_000_000, 2);
        })
    };
    assert_eq!(weighing(1_900_000_000), Vec::<String>::new());
    let told = "Totals: samples stand for 3.00 s, which 2 processors do not have in 1.00 s";
    assert_eq!(weighing(3_000_000_000), [told]);
    assert_eq!(weighing(1 << 60).len(), 1);
}

#[test]
fn calls_cost_no_more_than_what_ran() {
    let dear = found(|profile| profile.call_costs[0].instructions = 53);
    assert_eq!(dear, ["Costs: a call cost 53 instructions of the 52 of its process"]);
    // 32 of its own and 21 of its call are more than there are.
    let total = found(|profile| profile.call_costs[0].instructions = 21);
    assert_eq!(total, ["Costs: main cost 53 instructions with its calls, of the 52 of its process"]);
    // A thread that ended nobody knows where may have executed each block, 7 instructions in all, once more.
    let killed = |instructions| {
        found(|profile| {
            profile.processes.iter_mut().for_each(|process| process.count_uncertainty = 1);
            profile.call_costs[0].instructions = instructions;
        })
    };
    assert_eq!(killed(27), Vec::<String>::new());
    assert_eq!(killed(28), ["Costs: main cost 60 instructions with its calls, of the 52 of its process"]);
    let missing = found(|profile| profile.call_costs[0].callee = timewise_profile::BlockId(3));
    assert_eq!(missing, ["Costs: cost of a call to 0x100e that was not made"]);
}

#[test]
fn a_forked_process_may_return_from_a_call_of_its_parent() {
    let forked = |parent| {
        move |profile: &mut Profile| {
            let mut child = profile.processes[1].clone();
            child.parent = parent;
            profile.processes.push(child);
            for count in &mut profile.block_counts {
                count.process = ProcessId(2);
            }
            profile.edge_counts.iter_mut().for_each(|edge| edge.process = ProcessId(2));
            profile.threads[1].process = ProcessId(2);
            profile.edge_counts.retain(|edge| edge.kind != timewise_profile::EdgeKind::Call);
            let call = sketch(LOOP).unwrap().edge_counts[2];
            profile.edge_counts.push(call);
            profile.call_costs[0].process = ProcessId(2);
        }
    };
    let is_cost = |line: &String| line.starts_with("Costs");
    assert!(!found(forked(Some(ProcessId(1)))).iter().any(is_cost));
    assert!(found(forked(None)).iter().any(is_cost));
}
