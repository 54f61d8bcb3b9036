//! Joining any two profiles: counts survive, and blocks are split where they overlap.

mod generate;
mod skeleton;

use proptest::collection::vec;
use proptest::prelude::*;
use skeleton::{at, module, skeleton};
use std::collections::{BTreeMap, BTreeSet};
use timewise_profile::*;

/// A stretch of code: instructions of one to seven bytes, none of which branches.
fn code() -> (Vec<u8>, Vec<u64>) {
    let kinds: [&[u8]; 5] =
        [&[0x90], &[0x89, 0xc8], &[0x48, 0x01, 0xd8], &[0xb8, 1, 0, 0, 0], &[0x48, 0xc7, 0xc0, 1, 0, 0, 0]];
    let (mut code, mut starts) = (Vec::new(), Vec::new());
    for n in 0..40 {
        starts.push(code.len() as u64);
        code.extend_from_slice(kinds[n * 7 % 5]);
    }
    starts.push(code.len() as u64);
    (code, starts)
}

/// A counting profile of that code: blocks between some of the instructions, some not executed, with any
/// counts, and edges between any two.
fn counted() -> impl Strategy<Value = Profile> {
    let cuts = vec((any::<bool>(), any::<bool>(), 0..1000u64), 40);
    let edges = vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1..1000u64), 0..10);
    (cuts, edges, any::<bool>()).prop_map(|(cuts, edges, first_process)| {
        let (code, starts) = code();
        let mut profile = skeleton(RunKind::Counting);
        profile.modules = vec![module("app", b"1")];
        let process = ProcessId(u32::from(first_process));
        let mut from = 0;
        for (n, (begins, executed, executions)) in cuts.into_iter().enumerate() {
            let to = n + 1;
            if !begins && to < 40 {
                continue;
            }
            if executed {
                let code = code[starts[from] as usize..starts[to] as usize].to_vec();
                let block = BlockId(profile.blocks.len() as u32);
                profile.block_counts.push(BlockCount { block, process, executions });
                let instructions = (to - from) as u32;
                profile.blocks.push(Block { place: at(0, starts[from]), instructions, code });
            }
            from = to;
        }
        let count = profile.blocks.len();
        if count > 0 {
            let block = |index: prop::sample::Index| Some(BlockId(index.index(count) as u32));
            let edges = edges.into_iter().map(|(from, to, count)| EdgeCount {
                from: block(from),
                to: block(to),
                kind: EdgeKind::Branch,
                process,
                count,
            });
            profile.edge_counts = edges.collect();
            let costs = profile.edge_counts.iter().filter_map(|edge| {
                Some(CallCost { site: edge.from?, callee: edge.to?, process, instructions: edge.count })
            });
            profile.call_costs = costs.collect();
        }
        profile
    })
}

/// Executions of every instruction by every process.
fn instruction_counts(profile: &Profile) -> BTreeMap<(ProcessId, u64), u64> {
    let starts: BTreeSet<u64> = code().1.into_iter().collect();
    let mut counts = BTreeMap::new();
    for count in profile.block_counts.iter().filter(|count| count.executions > 0) {
        let block = &profile.blocks[count.block.index()];
        let from = block.place.offset.0;
        let inside: Vec<_> = starts.range(from..from + block.code.len() as u64).collect();
        assert_eq!(inside.len(), block.instructions as usize);
        for start in inside {
            *counts.entry((count.process, *start)).or_default() += count.executions;
        }
    }
    counts
}

/// Every branch: the offset of its last byte, where it goes, by whom, how often.
fn branches(profile: &Profile) -> Vec<(u64, u64, ProcessId, u64)> {
    let mut branches = Vec::new();
    for edge in profile.edge_counts.iter().filter(|edge| edge.kind == EdgeKind::Branch) {
        let from = &profile.blocks[edge.from.unwrap().index()];
        let to = &profile.blocks[edge.to.unwrap().index()];
        let last = from.place.offset.0 + from.code.len() as u64 - 1;
        branches.push((last, to.place.offset.0, edge.process, edge.count));
    }
    branches
}

fn moved(processes: u32, id: ProcessId) -> ProcessId {
    ProcessId(id.0 + processes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn instruction_counts_and_branches_survive_splitting(one in counted(), other in counted()) {
        let mut joined = one.clone();
        joined.append(other.clone());
        prop_assert_eq!(joined.check(), Ok(()));

        let mut counts = instruction_counts(&one);
        let theirs = instruction_counts(&other);
        counts.extend(theirs.into_iter().map(|((process, offset), n)| ((moved(2, process), offset), n)));
        prop_assert_eq!(instruction_counts(&joined), counts);

        let mut expected = branches(&one);
        expected.extend(branches(&other).into_iter().map(|(a, b, process, n)| (a, b, moved(2, process), n)));
        prop_assert_eq!(branches(&joined), expected);
        let costs: u64 = joined.call_costs.iter().map(|cost| cost.instructions).sum();
        let of_branches: u64 = branches(&joined).iter().map(|branch| branch.3).sum();
        prop_assert_eq!(costs, of_branches);
        for (cost, branch) in joined.call_costs.iter().zip(branches(&joined)) {
            let site = &joined.blocks[cost.site.index()];
            prop_assert_eq!(site.place.offset.0 + site.code.len() as u64 - 1, branch.0);
            prop_assert_eq!(joined.blocks[cost.callee.index()].place.offset.0, branch.1);
        }

        // No overlap, and nothing split that need not be.
        let (code, _) = code();
        let mut bounds = BTreeSet::new();
        for block in one.blocks.iter().chain(&other.blocks) {
            bounds.extend([block.place.offset.0, block.place.offset.0 + block.code.len() as u64]);
        }
        let mut blocks: Vec<_> = joined.blocks.iter().collect();
        blocks.sort_by_key(|block| block.place);
        let mut end = 0;
        for block in blocks {
            let from = block.place.offset.0;
            prop_assert!(from >= end, "overlap at {from}");
            end = from + block.code.len() as u64;
            prop_assert_eq!(bounds.range(from..end).count(), 1);
            prop_assert_eq!(&block.code, &code[from as usize..end as usize]);
        }

        // The parts of a split block are entered as often as the block was executed.
        let falls: u64 = joined.edge_counts.iter().filter(|e| e.kind == EdgeKind::Fallthrough).map(|e| e.count).sum();
        let executions = |p: &Profile| p.block_counts.iter().map(|c| c.executions).sum::<u64>();
        prop_assert_eq!(executions(&joined), executions(&one) + executions(&other) + falls);
    }

    #[test]
    fn any_two_profiles_join(one in generate::profile(), other in generate::profile()) {
        let mut joined = one.clone();
        joined.append(other.clone());
        prop_assert_eq!(joined.check(), Ok(()));
        prop_assert_eq!(joined.samples.len(), one.samples.len() + other.samples.len());
        prop_assert_eq!(joined.runs.len(), one.runs.len() + other.runs.len());
        prop_assert_eq!(&joined.samples[..one.samples.len()], &one.samples[..]);
        // Each place of theirs is in the same module as before.
        for (theirs, ours) in other.samples.iter().zip(&joined.samples[one.samples.len()..]) {
            let module = |profile: &Profile, sample: &Sample| {
                sample.place.map(|place| (profile.modules[place.module.index()].clone(), place.offset))
            };
            prop_assert_eq!(module(&other, theirs), module(&joined, ours));
        }
    }

    #[test]
    fn what_is_known_of_a_line_stays_known(one in lines(), other in lines()) {
        let modules = vec![module("app", b"1"), module("libc", b"2")];
        let files: Vec<_> = ["a.c", "b.c"].map(|path| SourceFile { path: path.into() }).into();
        let profile = |lines| Profile { modules: modules.clone(), files: files.clone(), lines, ..Profile::default() };
        let mut joined = profile(one.clone());
        joined.append(profile(other.clone()));
        prop_assert_eq!(joined.check(), Ok(()));
        for module in 0..2 {
            for offset in 0..40 {
                let place = at(module, offset);
                let expected = line_at(&one, place).or(line_at(&other, place));
                prop_assert_eq!(line_at(&joined.lines, place), expected, "at {:?}", place);
            }
        }
    }
}

#[test]
fn a_jump_into_an_instruction_splits_nothing() {
    // `lock cmpxchg [rdi],ecx; ret`, which one run entered behind the prefix.
    let code = [0xf0, 0x0f, 0xb1, 0x0f, 0xc3];
    let from = |start: usize| Profile {
        modules: vec![module("libc", b"1")],
        blocks: vec![Block { place: at(0, start as u64), instructions: 2, code: code[start..].into() }],
        ..Profile::default()
    };
    let mut joined = from(0);
    joined.append(from(1));
    assert_eq!(joined.blocks, [from(0).blocks[0].clone(), from(1).blocks[0].clone()]);
}

fn lines() -> impl Strategy<Value = Vec<Line>> {
    let rows = vec((0..2u32, 0..32u64, prop::option::of(0..2u32), 0..5u32), 0..12);
    rows.prop_map(|rows| {
        let line = |(module, offset, file, line)| Line {
            place: at(module, offset),
            file: Option::map(file, FileId),
            line,
        };
        let mut lines: Vec<Line> = rows.into_iter().map(line).collect();
        lines.sort_by_key(|line| line.place);
        lines.dedup_by_key(|line| line.place);
        lines
    })
}

/// Reads a table of lines as its documentation says.
fn line_at(lines: &[Line], place: Place) -> Option<(FileId, u32)> {
    let row = lines.iter().rfind(|line| line.place <= place)?;
    let same = row.place.module == place.module && row.place.version == place.version;
    Some((row.file.filter(|_| same)?, row.line))
}
