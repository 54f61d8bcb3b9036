//! Branches whose successors carry their cost.
//!
//! Where the processor went the wrong way, what stands first behind the branch waits until it was fetched, and
//! that is where the time is seen: samples are charged to the branch or, where the interrupt is taken one
//! instruction later, to the first instruction of either successor (OptiWISE, section VI-A, figure 10). So the
//! cost of a branch is its own together with that of these instructions, for the share of their executions that
//! came from it. Instructions that may be slow by themselves are left out.

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

/// Adds what the first instruction behind an edge cost, if it cannot be slow by itself.
fn with_successor(analysis: &Analysis, costs: &[Cost], mut cost: Cost, edge: &Edge) -> Cost {
    let Some(to) = edge.to.map(|to| &analysis.code.blocks[to.index()]).filter(|to| to.executions > 0) else {
        return cost;
    };
    let first = to.first;
    if is_quick(analysis, first) {
        let share = (edge.count as f64 / to.executions as f64).min(1.0);
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
