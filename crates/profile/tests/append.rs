//! Joining two profiles loses nothing and repeats nothing.

mod cpu_time;
mod skeleton;

use skeleton::{at, module, skeleton};
use timewise_profile::*;

#[test]
fn samples_and_counts_meet_in_one_module() {
    let mut sampled = skeleton(RunKind::Sampling);
    sampled.modules = vec![module("libc", b"1"), module("app", b"2")];
    sampled.stacks = vec![
        StackNode { parent: None, return_place: at(1, 0x10) },
        StackNode { parent: Some(StackId(0)), return_place: at(1, 0x20) },
    ];
    sampled.samples = vec![Sample {
        thread: ThreadId(1),
        time_ns: 5,
        weight_ns: 7,
        weight_cycles: Some(9),
        place: Some(at(1, 0x11)),
        kernel: false,
        stack: Some(StackId(1)),
    }];
    let mut counted = skeleton(RunKind::Counting);
    counted.modules = vec![module("app", b"2"), module("libc", b"other build")];
    counted.stacks = vec![
        StackNode { parent: None, return_place: at(1, 0x10) },
        StackNode { parent: None, return_place: at(0, 0x10) },
        StackNode { parent: Some(StackId(1)), return_place: at(0, 0x20) },
        StackNode { parent: Some(StackId(0)), return_place: at(0, 0x20) },
    ];
    counted.samples = (0..4).map(|n| Sample { stack: Some(StackId(n)), ..sampled.samples[0] }).collect();
    let wait = |sample: &Sample| Wait {
        thread: sample.thread,
        place: sample.place,
        stack: sample.stack,
        times: None,
        duration_ns: 1,
    };
    counted.waits = counted.samples.iter().map(wait).collect();
    counted.blocks = vec![Block { place: at(0, 0x11), instructions: 1, code: vec![0xc3] }];
    counted.block_counts = vec![BlockCount { block: BlockId(0), process: ProcessId(1), executions: 4 }];

    let mut joined = sampled.clone();
    joined.append(counted);
    assert_eq!(joined.check(), Ok(()));
    let modules = [module("libc", b"1"), module("app", b"2"), module("libc", b"other build")];
    assert_eq!(joined.modules, modules);
    assert_eq!(joined.blocks[0].place, at(1, 0x11));
    assert_eq!(joined.block_counts, [BlockCount { block: BlockId(0), process: ProcessId(3), executions: 4 }]);
    assert_eq!((joined.processes[2].run, joined.processes[2].parent), (RunId(1), None));
    assert_eq!((joined.processes[3].run, joined.processes[3].parent), (RunId(1), Some(ProcessId(2))));
    assert_eq!((joined.threads[3].process, joined.threads[3].tid), (ProcessId(3), 101));
    // Of the four stacks of the second profile two are known already.
    let stacks: Vec<_> = joined.samples[1..].iter().map(|sample| sample.stack.unwrap().0).collect();
    assert_eq!(stacks, [2, 0, 1, 3]);
    assert_eq!(joined.stacks[2].return_place, at(2, 0x10));
    assert_eq!(joined.stacks[3], StackNode { parent: Some(StackId(2)), return_place: at(1, 0x20) });
    assert!(joined.samples[1..].iter().all(|sample| sample.thread == ThreadId(3)));
    assert_eq!(joined.waits, joined.samples[1..].iter().map(wait).collect::<Vec<_>>());
}

#[test]
fn names_are_not_repeated_and_symbols_win() {
    let named = |offset, name: &str, symbol: &str| Function {
        place: at(0, offset),
        size: 16,
        name: name.into(),
        symbol: symbol.into(),
        file: Some(FileId(0)),
        line: 3,
    };
    let file = |path: &str| SourceFile { path: path.into() };
    let modules = vec![module("app", b"")];
    let mut one = Profile {
        modules: modules.clone(),
        files: vec![file("a.c")],
        functions: vec![named(0x10, "f", "f"), named(0x20, "app+0x20", "")],
        ..Profile::default()
    };
    let other = Profile {
        modules,
        files: vec![file("b.c"), file("a.c")],
        functions: vec![named(0x10, "app+0x10", ""), named(0x20, "g", "g"), named(0x30, "h", "h")],
        ..Profile::default()
    };
    one.append(other);
    assert_eq!(one.files, [file("a.c"), file("b.c")]);
    let names: Vec<_> = one.functions.iter().map(|f| (f.name.as_str(), f.file.unwrap().0)).collect();
    assert_eq!(names, [("f", 0), ("g", 1), ("h", 1)]);
}

#[test]
fn modules_whose_code_differs_stay_apart() {
    let with_code = |code: &[u8]| Profile {
        modules: vec![module("plugin", b"")],
        blocks: vec![Block { place: at(0, 0x10), instructions: 1, code: code.into() }],
        ..Profile::default()
    };
    let mut joined = with_code(&[0x90, 0xc3]);
    joined.append(with_code(&[0x90, 0xc3]));
    assert_eq!((joined.modules.len(), joined.blocks.len()), (1, 1));
    joined.append(with_code(&[0x50, 0xc3]));
    assert_eq!((joined.modules.len(), joined.blocks.len()), (2, 2));
    joined.append(with_code(&[0x50, 0xc3]));
    assert_eq!((joined.modules.len(), joined.blocks.len()), (2, 2));
    let mut swapped = with_code(&[0x50, 0xc3]);
    swapped.append(joined);
    assert_eq!((swapped.modules.len(), swapped.blocks.len()), (2, 2));
    assert_eq!(swapped.check(), Ok(()));
}

#[test]
fn code_that_was_written_anew_is_its_runs_own() {
    let written = |versions: &[u32]| {
        let block = |&version| Block {
            place: Place { version: CodeVersion(version), ..at(0, 0x10) },
            instructions: 1,
            code: vec![0x90, version as u8],
        };
        Profile {
            modules: vec![Module { kind: ModuleKind::Jit, ..module("[jit 0x7000]", b"") }],
            blocks: versions.iter().map(block).collect(),
            ..Profile::default()
        }
    };
    let modules = |one: &[u32], other: &[u32]| {
        let mut joined = written(one);
        joined.append(written(other));
        joined.modules.len()
    };
    assert_eq!(modules(&[], &[0]), 1, "samples meet code that was written once");
    assert_eq!(modules(&[], &[0, 1]), 2, "nothing tells which version the samples saw");
    assert_eq!(modules(&[0, 1], &[]), 2);
}

#[test]
fn joining_large_profiles_is_quick() {
    let mut profile = skeleton(RunKind::Counting);
    profile.modules = vec![module("app", b"1")];
    let block = |n: u64| Block { place: at(0, n * 16), instructions: 16, code: vec![0x90; 16] };
    profile.blocks = (0..100_000).map(block).collect();
    let count = |n| BlockCount { block: BlockId(n), process: ProcessId(0), executions: 1 };
    profile.block_counts = (0..100_000).map(count).collect();
    let mut shifted = profile.clone();
    for block in &mut shifted.blocks {
        block.place.offset.0 += 8;
    }
    let start = cpu_time::so_far();
    profile.append(shifted);
    let taken = cpu_time::so_far() - start;
    println!("joined in {taken:?}");
    assert_eq!(profile.blocks.len(), 200_001);
    assert_eq!(profile.edge_counts.len(), 200_000);
    assert!(taken.as_secs() < 20);
}

/// Of a place that both know, the chain of one stays whole.
#[test]
fn inlined_calls_meet_at_their_places() {
    let call = |place, depth, function: &str| InlinedCall {
        place,
        depth,
        function: function.into(),
        file: Some(FileId(0)),
        line: 1,
    };
    let of = |modules: &[Module], file: &str, calls: Vec<InlinedCall>| {
        let mut profile = skeleton(RunKind::Sampling);
        profile.modules = modules.to_vec();
        profile.files = vec![SourceFile { path: file.into() }];
        profile.inlined_calls = calls;
        profile
    };
    let (app, libc) = (module("app", b"2"), module("libc", b"1"));
    let known = vec![call(at(0, 0x10), 0, "a"), call(at(0, 0x10), 1, "b")];
    let mut joined = of(std::slice::from_ref(&app), "one.c", known.clone());
    let others = vec![
        call(at(0, 0x10), 0, "c"),
        call(at(1, 0x8), 0, "d"),
        call(at(1, 0x10), 0, "e"),
        call(at(1, 0x10), 2, "f"),
    ];
    joined.append(of(&[libc, app], "two.c", others));
    assert_eq!(joined.check(), Ok(()));
    let theirs = |place, function| InlinedCall { file: Some(FileId(1)), ..call(place, 0, function) };
    let expected = [vec![theirs(at(0, 0x8), "d")], known, vec![theirs(at(1, 0x10), "c")]].concat();
    assert_eq!(joined.inlined_calls, expected);
}

#[test]
fn a_later_time_of_a_run_is_no_other_run() {
    let of = |elapsed_ns, warnings: &[&str], executions| {
        let mut profile = skeleton(RunKind::Counting);
        let run = &mut profile.runs[0];
        (run.elapsed_ns, run.user_ns, run.kernel_ns) = (elapsed_ns, 2 * elapsed_ns, 3 * elapsed_ns);
        run.counts_complete = executions < 50;
        run.warnings = warnings.iter().map(ToString::to_string).collect();
        profile.modules = vec![module("app", b"2")];
        profile.blocks = vec![Block { place: at(0, 0x10), instructions: 1, code: vec![0xc3] }];
        profile.block_counts = vec![BlockCount { block: BlockId(0), process: ProcessId(0), executions }];
        profile.tallies =
            vec![Tally { run: RunId(0), place: at(0, 0x10), executions: 1, cpu_ns: 1, variance: 1 }];
        profile
    };
    let mut whole = of(10, &["a", "b"], 40);
    assert!(whole.runs[0].counts_complete);
    whole.append_later(of(1, &["b", "c"], 60));
    assert_eq!(whole.check(), Ok(()));
    let [run] = &whole.runs[..] else { panic!("{:?}", whole.runs) };
    assert_eq!((run.elapsed_ns, run.user_ns, run.kernel_ns), (11, 22, 33));
    assert_eq!((run.counts_complete, &run.warnings[..]), (false, &["a", "b", "c"].map(String::from)[..]));
    assert!(whole.processes.iter().all(|process| process.run == RunId(0)) && whole.tallies.len() == 2);
    assert_eq!(whole.block_counts.iter().map(|count| count.executions).sum::<u64>(), 100);
}
