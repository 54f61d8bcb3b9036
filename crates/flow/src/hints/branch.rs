//! Branches whose successors carry their cost.
//!
//! Where the processor went the wrong way, what stands first behind the branch waits until it was fetched, and
//! that is where the time is seen: samples are charged to the branch or, where the interrupt is taken one
//! instruction later, to the first instruction of either successor (OptiWISE, section VI-A, figure 10). So the
//! cost of a branch is its own together with that of these instructions. Several branches that lead to one
//! instruction share its cost by how often each can have been predicted wrongly to go there: at most as often as it
//! went its rarer way. Instructions that may be slow by themselves are left out.

use super::{Finding, Ways, costly_enough};
use crate::analysis::Analysis;
use crate::code::{Edge, InstructionId};
use crate::cost::Cost;
use std::collections::HashMap;
use timewise_isa::{Control, Work};
use timewise_profile::{BlockId, EdgeKind};

/// A branch that goes one way less often than this is predicted well enough.
const RARER_SHARE: f64 = 0.05;

/// A branch that was predicted costs a cycle at most, and so does what stands first behind it.
const DEAR_BRANCH: f64 = 2.5;

/// Hints on conditional branches.
pub fn branches(analysis: &Analysis, costs: &[Cost]) -> Vec<Finding> {
    let code = &analysis.code;
    let mut ways: HashMap<BlockId, Vec<&Edge>> = HashMap::new();
    for edge in code.edges.iter().filter(|edge| matches!(edge.kind, EdgeKind::Branch | EdgeKind::Fallthrough))
    {
        edge.from.into_iter().for_each(|from| ways.entry(from).or_default().push(edge));
    }
    let mut found = Vec::new();
    for (index, block) in code.blocks.iter().enumerate().filter(|(_, block)| block.length > 0) {
        let id = block.last();
        let Control::Branch { .. } = code.instructions[id.index()].step.control else { continue };
        let edges = ways.get(&BlockId(index as u32)).map_or(&[][..], |edges| &edges[..]);
        let taken = edges.iter().filter(|edge| edge.kind == EdgeKind::Branch).map(|edge| edge.count).sum();
        let ways = Ways { taken, executions: block.executions };
        if ways.rarer_share() < RARER_SHARE {
            continue;
        }
        let cost =
            edges.iter().fold(costs[id.index()], |cost, edge| with_successor(analysis, costs, cost, edge));
        let costly = costly_enough(analysis, id, &cost);
        let dear = costly.filter(|costly| costly.cycles_each.low >= DEAR_BRANCH);
        found.extend(dear.map(|costly| Finding::CostlyBranch(costly, ways)));
    }
    found
}

/// How often a branch can have been predicted wrongly and then gone along this edge; never for other edges.
fn possible_surprises(analysis: &Analysis, edge: &Edge) -> u64 {
    let Some(from) = edge.from.map(|from| &analysis.code.blocks[from.index()]) else { return 0 };
    let branches = from.length > 0 && {
        let control = analysis.code.instructions[from.last().index()].step.control;
        matches!(control, Control::Branch { .. })
    };
    if branches { edge.count.min(from.executions.saturating_sub(edge.count)) } else { 0 }
}

/// Adds the branch's part of what the first instruction behind an edge cost, if it cannot be slow by itself.
fn with_successor(analysis: &Analysis, costs: &[Cost], mut cost: Cost, edge: &Edge) -> Cost {
    let Some(to) = edge.to else { return cost };
    let ways = analysis.code.edges_into(to);
    let all: f64 = ways.iter().map(|way| possible_surprises(analysis, way) as f64).sum();
    let first = analysis.code.blocks[to.index()].first;
    if all > 0.0 && is_quick(analysis, first) {
        let share = possible_surprises(analysis, edge) as f64 / all;
        let successor = costs[first.index()];
        cost.weight += successor.weight.share(share);
        cost.split_variance += successor.split_variance * share * share;
    }
    cost
}

fn is_quick(analysis: &Analysis, id: InstructionId) -> bool {
    let step = &analysis.code.instructions[id.index()].step;
    let goes_on = matches!(step.control, Control::Next | Control::Jump { .. } | Control::Return { .. });
    goes_on && step.work == Work::Simple && !step.loads && !step.stores
}
