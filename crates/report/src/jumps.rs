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

/// The jumps of a function whose code was executed, shortest first.
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
    found.iter().zip(lanes).map(|(&(from, to, ..), lane)| Jump { from, to, lane }).collect()
}

/// The innermost lane for each span of lines that no span before it occupies.
fn lanes(spans: impl Iterator<Item = (usize, usize)>) -> Vec<u32> {
    // Of each lane, the ends of its spans by their beginnings.
    let mut taken: Vec<BTreeMap<usize, usize>> = Vec::new();
    let mut lanes = Vec::new();
    for (start, end) in spans {
        let is_free = |lane: &BTreeMap<usize, usize>| {
            lane.range(..=end).next_back().is_none_or(|(_, &other_end)| other_end < start)
        };
        let lane = taken.iter().position(is_free).unwrap_or_else(|| {
            taken.push(BTreeMap::new());
            taken.len() - 1
        });
        taken[lane].insert(start, end);
        lanes.push(lane as u32);
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_that_touch_run_in_lanes_of_their_own() {
        assert_eq!(lanes([(1, 2), (5, 6), (2, 4), (0, 9), (7, 8)].into_iter()), [0, 0, 1, 2, 0]);
    }
}
