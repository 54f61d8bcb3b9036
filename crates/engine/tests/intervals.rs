//! Basic block vectors: what intervals hold adds up to what was counted.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use timewise_engine::{Options, count};
use timewise_profile::{IntervalId, Profile, ThreadId};
use timewise_target::launch::Launch;

/// A shell and what it starts, with signals that its handler returns from.
const SCRIPT: &str = "trap 'x=1' USR1; for i in 1 2 3; do kill -USR1 $$; ls / | sort -r; done";

fn counted(program: &Path, arguments: &[&str], length: u64) -> Profile {
    let mut launch = Launch::new(program);
    launch.arguments = arguments.iter().map(Into::into).collect();
    launch.stdout = File::create("/dev/null").unwrap().into();
    let counted = count(launch, &Options { intervals: Some(length), ..Options::default() }).unwrap();
    assert_eq!((counted.failure, counted.imbalance), (None, 0));
    assert_eq!(counted.profile.check(), Ok(()));
    assert!(counted.profile.runs[0].warnings.is_empty(), "{:?}", counted.profile.runs[0].warnings);
    counted.profile
}

#[test]
fn vectors_add_up() {
    for length in [1000, 77_777] {
        let profile = counted(Path::new("/bin/sh"), &["-c", SCRIPT], length);
        assert!(profile.processes.len() >= 4);
        adds_up(&profile, length);
    }
}

/// Many of them find the thread before a block that it has come to and not begun.
#[test]
fn vectors_add_up_under_signals() {
    compiled_adds_up("tests/ticks.c");
}

/// So is a block whose code is another by then.
#[test]
fn vectors_add_up_where_code_changes() {
    compiled_adds_up("../../suite/torture/jit_patch.c");
}

fn compiled_adds_up(source: &str) {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let program = folder.path().join("program");
    let built = Command::new("cc").arg("-O1").arg(&source).arg("-o").arg(&program).status().unwrap();
    assert!(built.success());
    for length in [1000, 77_777] {
        adds_up(&counted(&program, &[], length), length);
    }
}

fn adds_up(profile: &Profile, length: u64) {
    let mut of_intervals = vec![0; profile.intervals.len()];
    let mut of_blocks = vec![0; profile.blocks.len()];
    for part in &profile.interval_blocks {
        of_intervals[part.interval.index()] += part.instructions;
        of_blocks[part.block.index()] += part.instructions;
    }
    let mut next: HashMap<ThreadId, u64> = HashMap::new();
    for (number, interval) in profile.intervals.iter().enumerate() {
        let next = next.entry(interval.thread).or_default();
        if interval.first_instruction == 0 {
            // Where a process becomes another program, it is the same thread.
            *next = 0;
        }
        assert_eq!(interval.first_instruction, *next);
        assert_eq!(interval.instructions, of_intervals[IntervalId(number as u32).index()]);
        *next += interval.instructions;
        let follows = profile.intervals.get(number + 1);
        let is_last = follows.is_none_or(|follows| follows.first_instruction == 0);
        assert!(if is_last { interval.instructions <= length } else { interval.instructions == length });
    }
    let mut counted = vec![0; profile.blocks.len()];
    for count in &profile.block_counts {
        let instructions = profile.blocks[count.block.index()].instructions;
        counted[count.block.index()] += count.executions * u64::from(instructions);
    }
    let differing = (0..counted.len()).filter(|&block| of_blocks[block] != counted[block]);
    let differing: Vec<(u64, u64)> = differing.map(|block| (of_blocks[block], counted[block])).collect();
    assert_eq!(differing, [], "instructions of blocks in all intervals, and as they were counted");
    let threads: u64 = profile.threads.iter().filter_map(|thread| thread.instructions).sum();
    assert_eq!(threads, counted.iter().sum::<u64>());
}
