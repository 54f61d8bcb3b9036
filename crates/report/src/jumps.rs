//! Jumps within a function as arrows beside its code, which cross each other as little as can be.

use std::collections::BTreeMap;
use timewise_flow::{Analysis, InstructionId, RoutineId};
use timewise_isa::Control;
use timewise_profile::{Offset, Place};

/// A direct jump from one instruction of a function to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jump {
    /// The jump.
    pub from: InstructionId,
    /// Where it leads.
    pub to: InstructionId,
    /// How far from the code its arrow runs: arrows in one lane do not touch.
    pub lane: u32,
}

/// How many lanes there are: an arrow further out could not be followed, and long functions have many thousands of them
/// over the same lines.
const MOST_LANES: usize = 64;

/// The jumps of a function whose code was executed, shortest first, as far as there are lanes for them.
pub fn jumps(analysis: &Analysis, routine: RoutineId) -> Vec<Jump> {
    let code = &analysis.code;
    let blocks = &analysis.routines[routine.index()].blocks;
    let lines = blocks.iter().flat_map(|block| code.blocks[block.index()].instructions());
    let line_of: BTreeMap<InstructionId, usize> = lines.enumerate().map(|(line, id)| (id, line)).collect();
    let mut found: Vec<(InstructionId, InstructionId, usize, usize)> = Vec::new();
    for block in blocks.iter().map(|block| &code.blocks[block.index()]).filter(|block| block.length > 0) {
        let from = block.last();
        let target = match code.instructions[from.index()].step.control {
            Control::Branch { target, .. }
            | Control::CountBranch { target, .. }
            | Control::Jump { target } => target,
            _ => continue,
        };
        let target = code.instruction_at(Place { offset: Offset(target), ..block.place });
        if let Some((to, line)) = target.and_then(|to| Some((to, *line_of.get(&to)?))) {
            found.push((from, to, line_of[&from], line));
        }
    }
    found.sort_by_key(|&(from, _, start, end)| (start.abs_diff(end), from));
    let lanes = lanes(found.iter().map(|&(_, _, start, end)| (start.min(end), start.max(end))));
    let found = found.iter().zip(lanes);
    found.filter_map(|(&(from, to, ..), lane)| Some(Jump { from, to, lane: lane? })).collect()
}

/// The innermost lane for each span of lines that no span before it occupies; none if all are occupied.
fn lanes(spans: impl Iterator<Item = (usize, usize)>) -> Vec<Option<u32>> {
    // Of each lane, the ends of its spans by their beginnings.
    let mut taken: Vec<BTreeMap<usize, usize>> = Vec::new();
    let mut lanes = Vec::new();
    for (start, end) in spans {
        let is_free = |lane: &BTreeMap<usize, usize>| {
            lane.range(..=end).next_back().is_none_or(|(_, &other_end)| other_end < start)
        };
        let lane = taken.iter().position(is_free).unwrap_or(taken.len());
        if lane == taken.len() && lane < MOST_LANES {
            taken.push(BTreeMap::new());
        }
        lanes.push(taken.get_mut(lane).map(|lane| lane.insert(start, end)).map(|_| lane as u32));
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_that_touch_run_in_lanes_of_their_own() {
        let found = lanes([(1, 2), (5, 6), (2, 4), (0, 9), (7, 8)].into_iter());
        assert_eq!(found, [0, 0, 1, 2, 0].map(Some));
    }

    #[test]
    fn there_are_so_many_lanes_and_no_more() {
        let found = lanes((0..MOST_LANES + 2).map(|n| (0, n + 1)).chain([(MOST_LANES + 9, MOST_LANES + 10)]));
        let expected = (0..MOST_LANES as u32).map(Some).chain([None, None, Some(0)]);
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
}
