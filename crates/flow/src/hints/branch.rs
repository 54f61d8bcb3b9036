//! Branches whose successors carry their cost. Samples at the heads of the blocks behind a branch are charged
//! to it, so what a branch costs is what its successors waited.

use super::{Finding, Ways, costly_enough};
use crate::analysis::Analysis;
use crate::code::InstructionId;
use crate::cost::Cost;
use std::collections::HashMap;
use timewise_isa::Control;
use timewise_profile::{BlockId, EdgeKind};

/// A branch that goes one way less often than this is predicted well enough.
const RARER_SHARE: f64 = 0.05;

/// A branch that was predicted costs a cycle at most, and so does the comparison that is one with it.
const DEAR_BRANCH: f64 = 2.0;

/// Hints on conditional branches.
pub fn branches(analysis: &Analysis, costs: &[Cost]) -> Vec<Finding> {
    let mut taken: HashMap<BlockId, u64> = HashMap::new();
    for edge in analysis.code.edges.iter().filter(|edge| edge.kind == EdgeKind::Branch) {
        edge.from.into_iter().for_each(|from| *taken.entry(from).or_default() += edge.count);
    }
    let of = |(index, cost): (usize, &Cost)| {
        let id = InstructionId(index as u32);
        let instruction = &analysis.code.instructions[index];
        let Control::Branch { .. } = instruction.step.control else { return None };
        let costly = costly_enough(analysis, id, cost)?;
        let taken = taken.get(&instruction.block).copied().unwrap_or(0);
        let ways = Ways { taken, executions: costly.executions };
        let is_dear = costly.cycles_each.low >= DEAR_BRANCH && ways.rarer_share() >= RARER_SHARE;
        is_dear.then_some(Finding::CostlyBranch(costly, ways))
    };
    costs.iter().enumerate().filter_map(of).collect()
}
