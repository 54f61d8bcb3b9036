//! Which copy of a loop is which, where a loop was inlined several times into one function.
//!
//! Copies are made of the same instructions, so an alignment that cannot cross itself pairs them in their order in the
//! code, which another build may have changed. How often they were entered and went around tells them apart. Two
//! copies change their partners only if all that this concerns find one that ran nearly as often: where a change of
//! the program made all of them run otherwise, the alignment knows better.

use crate::align::align;
use crate::loops::apart;
use crate::matching::{is_same_file, tokens_of};
use crate::pairing::Pairing;
use std::collections::BTreeMap;
use timewise_flow::lines::SourceLine;
use timewise_flow::{Analysis, InstructionId, LoopId};

/// Entries and rounds that differ by no larger share are nearly equal.
const NEARLY: f64 = 0.1;

/// Lets copies of a loop whose partner ran otherwise change their partners, and aligns their own instructions anew.
pub fn uncross(base: &Analysis, test: &Analysis, instructions: &mut Pairing, loops: &mut Pairing) {
    let mut moved = Vec::new();
    for pairs in groups(base, test, loops) {
        moved.extend(changes(base, test, &pairs));
    }
    if moved.is_empty() {
        return;
    }
    moved.iter().for_each(|(ours, _)| loops.part(*ours));
    let (ours, theirs) = (own_instructions(base), own_instructions(test));
    for (base_loop, test_loop) in &moved {
        ours[*base_loop as usize].iter().for_each(|id| instructions.part(id.0));
        let others = theirs[*test_loop as usize].iter().filter_map(|id| instructions.of_test(id.0));
        others.collect::<Vec<_>>().into_iter().for_each(|id| instructions.part(id));
    }
    for (base_loop, test_loop) in moved {
        loops.pair(base_loop, test_loop);
        let (ours, theirs) = (&ours[base_loop as usize], &theirs[test_loop as usize]);
        for (a, b) in align(&tokens_of(base, ours), &tokens_of(test, theirs)).pairs {
            instructions.pair(ours[a].0, theirs[b].0);
        }
    }
}

/// A function, and the first and the last line of a loop in it.
type Source = (u32, (SourceLine, SourceLine));

/// Pairs of loops that ran otherwise, together where their lines are the same on each side, in the order of BASE. In one
/// build each loop is itself.
fn groups(base: &Analysis, test: &Analysis, loops: &Pairing) -> Vec<Vec<(u32, u32)>> {
    let routine = |analysis: &Analysis, id: u32| analysis.forest.loops[id as usize].routine.0;
    let source = |analysis: &Analysis, id: u32| -> Option<Source> {
        Some((routine(analysis, id), analysis.lines_of_loop(LoopId(id))?))
    };
    let mut groups: BTreeMap<(Source, Source), Vec<(u32, u32)>> = BTreeMap::new();
    for ours in 0..base.forest.loops.len() as u32 {
        let Some(theirs) = loops.of_base(ours) else { continue };
        let is_one_build = is_same_file(base, test, routine(base, ours), routine(test, theirs));
        if is_one_build || apart(base, test, ours, theirs) <= NEARLY {
            continue;
        }
        if let (Some(one), Some(other)) = (source(base, ours), source(test, theirs)) {
            groups.entry((one, other)).or_default().push((ours, theirs));
        }
    }
    groups.into_values().collect()
}

/// The pairs that are to be instead of some of these.
fn changes(base: &Analysis, test: &Analysis, pairs: &[(u32, u32)]) -> Vec<(u32, u32)> {
    // For each its new partner, as the position of the pair that this one is in now.
    let mut partners: Vec<Option<usize>> = vec![None; pairs.len()];
    let mut is_taken = vec![false; pairs.len()];
    for at in 0..pairs.len() {
        let free = (0..pairs.len()).filter(|other| !is_taken[*other]);
        let distance = |other: usize| apart(base, test, pairs[at].0, pairs[other].1);
        let near = free.filter(|other| distance(*other) <= NEARLY);
        partners[at] = near.min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
        partners[at].into_iter().for_each(|other| is_taken[other] = true);
    }
    // Whether all that get another's partner give theirs to one of them.
    let closes = |at: usize| {
        let mut next = partners[at];
        for _ in 0..pairs.len() {
            match next {
                Some(other) if other == at => return true,
                Some(other) => next = partners[other],
                None => return false,
            }
        }
        false
    };
    let closing = (0..pairs.len()).filter(|at| closes(*at));
    closing.filter_map(|at| Some((pairs[at].0, pairs[partners[at]?].1))).collect()
}

/// The instructions of each loop that are in no inner loop, by offset.
fn own_instructions(analysis: &Analysis) -> Vec<Vec<InstructionId>> {
    let of = |one: (usize, &timewise_flow::Loop)| {
        let own = one.1.blocks.iter().filter(|block| {
            analysis.forest.innermost[block.index()].is_some_and(|innermost| innermost.index() == one.0)
        });
        own.flat_map(|block| analysis.code.blocks[block.index()].instructions()).collect()
    };
    analysis.forest.loops.iter().enumerate().map(of).collect()
}
