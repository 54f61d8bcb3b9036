//! Branches whose successors carry their cost.
//!
//! Where the processor went the wrong way, what stands first behind the branch waits until it was fetched, and
//! that is where the time is seen: samples are charged to the branch or, where the interrupt is taken one
//! instruction later, to the first instruction of either successor (OptiWISE, section VI-A, figure 10). So the
//! cost of a branch is its own together with that of these instructions. Several branches that lead to one
//! instruction share its cost by how often each can have been predicted wrongly to go there: at most as often as it
//! went its rarer way. Instructions that may be slow by themselves are left out. Where a comparison with memory is fused
//! with the branch and both take longer than wrong predictions explain, it is the load that is told.

use super::{Finding, Ways, costly_enough, fused_load, waits_for_load};
use crate::analysis::Analysis;
use crate::code::{Edge, InstructionId};
use crate::cost::Cost;
use std::collections::HashMap;
use timewise_isa::{Control, Work};
use timewise_profile::{BlockId, EdgeKind};

/// A branch that was predicted costs a cycle at most, and so does what stands first behind it.
const DEAR_BRANCH: f64 = 2.5;

/// Hints on conditional branches.
pub fn branches(analysis: &Analysis, costs: &[Cost]) -> Vec<Finding> {
    let code = &analysis.code;
    let mut edges_of: HashMap<BlockId, Vec<&Edge>> = HashMap::new();
    for edge in code.edges.iter().filter(|edge| matches!(edge.kind, EdgeKind::Branch | EdgeKind::Fallthrough))
    {
        edge.from.into_iter().for_each(|from| edges_of.entry(from).or_default().push(edge));
    }
    let mut found = Vec::new();
    for (index, block) in code.blocks.iter().enumerate().filter(|(_, block)| block.length > 0) {
        let id = block.last();
        if !matches!(code.instructions[id.index()].step.control, Control::Branch { .. }) {
            continue;
        }
        let Some(ways) = Ways::of(analysis, id) else { continue };
        if let Some(load) = slow_load(analysis, costs, id, ways) {
            found.push(load);
            continue;
        }
        if ways.is_predictable() {
            continue;
        }
        let edges = edges_of.get(&BlockId(index as u32)).map_or(&[][..], |edges| &edges[..]);
        let cost =
            edges.iter().fold(costs[id.index()], |cost, edge| with_successor(analysis, costs, cost, edge));
        let costly = costly_enough(analysis, id, &cost);
        let dear = costly.filter(|costly| costly.cycles_each.low >= DEAR_BRANCH);
        found.extend(dear.map(|costly| Finding::CostlyBranch(costly, ways)));
    }
    found
}

/// The load that a branch is fused with, if the two are as slow as that alone explains.
fn slow_load(analysis: &Analysis, costs: &[Cost], branch: InstructionId, ways: Ways) -> Option<Finding> {
    let load = fused_load(analysis, branch)?;
    let (mut cost, own) = (costs[load.index()], costs[branch.index()]);
    cost.weight += own.weight;
    cost.split_variance += own.split_variance;
    let costly = costly_enough(analysis, load, &cost)?;
    waits_for_load(costly.cycles_each, ways).then_some(Finding::SlowLoad(costly))
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
