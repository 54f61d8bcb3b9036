//! What gates make of modelled cycles, by which part of each side was simulated.

use timewise_diff::gate::GateError;
use timewise_diff::{Comparison, Gate, Verdict, Work};
use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_profile::{
    CommitState, CoreEvents, Profile, RunId, SimulatedPart, SimulatedThread, SimulatedThreadId,
    SimulatedWindow, Simulation, SimulationId, StackComponent, ThreadId,
};

/// Of a thread that executed so many instructions, windows with the first instruction, instructions and cycles of each.
fn simulated(executed: u64, part: SimulatedPart, windows: &[[u64; 3]]) -> Profile {
    let code = "function main at 0x1000 size 0x40 file a.c line 1
                block round at 0x1000 runs 1000 code 31c0 90 75eb
                edge - -> round external 1000
                edge round -> - return 1000";
    let mut profile = sketch(code).unwrap();
    let sum = |at: usize| windows.iter().map(|window| window[at]).sum::<u64>();
    let (simulation, run, place) = (SimulationId(0), RunId(0), profile.blocks[0].place);
    let (instructions, cycles) = (sum(1), sum(2));
    let (core, executed) = ("toy".into(), Some(executed));
    profile.simulations.push(Simulation { run, core, core_hash: 1, part, executed, instructions, cycles });
    profile.simulated_threads.push(SimulatedThread {
        simulation,
        thread: ThreadId(0),
        image: 0,
        executable: Vec::new(),
        instructions,
        cycles,
    });
    profile.simulated_windows.extend(windows.iter().map(|&[first_instruction, instructions, cycles]| {
        SimulatedWindow { thread: SimulatedThreadId(0), first_instruction, instructions, cycles }
    }));
    let (state, events) = (CommitState::Computing, CoreEvents(0));
    let parts = cycles * StackComponent::PARTS_OF_A_CYCLE;
    profile.cycle_stacks.push(StackComponent { simulation, place, state, events, parts });
    profile
}

/// The first thousand instructions.
fn beginning(executed: u64, cycles: u64) -> Profile {
    let part = SimulatedPart { length: Some(1000), ..SimulatedPart::ALL };
    simulated(executed, part, &[[0, executed.min(1000), cycles]])
}

/// Windows of a hundred instructions, each behind 900, with so many cycles, and 400 instructions behind the last.
fn windows(cycles: &[u64]) -> Profile {
    let part = SimulatedPart { skipped: 900, length: Some(100), windows: None };
    let all: Vec<_> = (0..).zip(cycles).map(|(at, &cycles)| [900 + 1000 * at, 100, cycles]).collect();
    simulated(400 + 1000 * cycles.len() as u64, part, &all)
}

fn compared<T>(base: &Profile, test: &Profile, with: impl FnOnce(&Comparison) -> T) -> T {
    let (base, test) = (Analysis::new(base, None), Analysis::new(test, None));
    with(&Comparison::new(&base, &test).unwrap())
}

fn judged(base: &Profile, test: &Profile, gate: &str) -> Result<Verdict, GateError> {
    let gate: Gate = gate.parse().unwrap();
    compared(base, test, |comparison| gate.judge(comparison))
}

const GATE: &str = "modelled-cycles>1%";

#[test]
fn equal_work_is_compared_exactly() {
    // All of each, whatever they executed.
    let verdict = judged(&beginning(800, 900), &beginning(900, 990), GATE).unwrap();
    assert_eq!((verdict.growth.value, verdict.growth.low, verdict.confidence), (0.1, 0.1, 1.0));
    assert!(verdict.fails);
    // Equal parts of executions of a length, or as good as that.
    for executed in [5000, 5001] {
        let verdict = judged(&beginning(5000, 1000), &beginning(executed, 1005), GATE).unwrap();
        assert_eq!((verdict.growth.value, verdict.confidence, verdict.fails), (0.005, 1.0, false));
    }
}

#[test]
fn parts_that_are_other_work_are_not_judged() {
    for (base, test) in [(5000, 5002), (900, 1100), (5000, 900)] {
        let verdict = judged(&beginning(base, 1000), &beginning(test, 1000), GATE);
        assert_eq!(verdict, Err(GateError::UnequalParts), "{base} {test}");
    }
    // Too few windows, or none of the last of them.
    let few = judged(&windows(&[200; 29]), &windows(&[200; 32]), GATE);
    assert_eq!(few, Err(GateError::UnequalParts));
    let mut cut = windows(&[200; 32]);
    cut.simulations[0].executed = Some(40_000);
    assert_eq!(judged(&windows(&[200; 30]), &cut, GATE), Err(GateError::UnequalParts));
}

/// Windows that all take as long leave no doubt: 2 cycles for each of 30,400 instructions, 2.1 for each of 31,400.
#[test]
fn windows_of_other_work_tell_of_the_whole() {
    let verdict = judged(&windows(&[200; 30]), &windows(&[210; 31]), GATE).unwrap();
    let grown = 2.1 * 31_400.0 - 2.0 * 30_400.0;
    assert!((verdict.grown - grown).abs() < 1e-6 && verdict.fails, "{verdict:?}");
    assert!((verdict.growth.low - grown / 60_800.0).abs() < 1e-9, "{verdict:?}");
    let in_main = judged(&windows(&[200; 30]), &windows(&[210; 31]), "function:main modelled-cycles>1%");
    assert_eq!(in_main, Err(GateError::UnequalWindows));
    // As many instructions: the same windows.
    let verdict = judged(&windows(&[200; 30]), &windows(&[204; 30]), GATE).unwrap();
    assert_eq!((verdict.growth.value, verdict.confidence), (0.02, 1.0));
    // One side's last window lies behind the end of the other by a few instructions.
    let mut fewer = windows(&[200; 30]);
    fewer.simulations[0].executed = Some(30_999);
    let mut more = windows(&[200; 31]);
    more.simulations[0].executed = Some(30_999);
    let verdict = judged(&fewer, &more, GATE).unwrap();
    assert!(verdict.growth.value.abs() < 1e-9 && verdict.confidence == 0.95, "{verdict:?}");
}

/// Of windows that differ, the limits of both sides count: by hand, as the distances are at right angles.
#[test]
fn limits_of_both_sides_count() {
    let mixed = |less: u64, more: u64, number: usize| -> Vec<u64> {
        (0..number).map(|at| if at % 2 == 0 { less } else { more }).collect()
    };
    let (base, test) = (windows(&mixed(180, 220, 30)), windows(&mixed(170, 230, 36)));
    let Some(Work::Estimated { base: old, test: new }) =
        compared(&base, &test, |comparison| comparison.modelled_work())
    else {
        panic!("other work");
    };
    assert!(old.high - old.value > 1000.0 && new.high - new.value > 1000.0, "{old:?} {new:?}");
    let verdict = judged(&base, &test, GATE).unwrap();
    let range = (old.high - old.value).hypot(new.value - new.low);
    assert!((verdict.growth.low - (new.value - old.value - range) / old.value).abs() < 1e-9, "{verdict:?}");
    assert_eq!(verdict.confidence, 0.95);
    assert!(verdict.fails, "a fifth more instructions of 2 cycles: {verdict:?}");
    let verdict = judged(&base, &test, "modelled-cycles>15%").unwrap();
    assert!(!verdict.fails && verdict.growth.value > 0.15, "{verdict:?}");
}
