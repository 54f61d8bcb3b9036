//! Branches whose successors carry their cost.
//!
//! Where the processor went the wrong way, what stands first behind the branch waits until it was fetched, and
//! that is where the time is seen: samples are charged to the branch or, where the interrupt is taken one
//! instruction later, to the first instruction of either successor (OptiWISE, section VI-A, figure 10). So the
//! cost of a branch is its own together with that of these instructions. Several branches that lead to one
//! instruction share its cost by how often each can have been predicted wrongly to go there: at most as often as it
//! went its rarer way. Instructions that may be slow by themselves are left out, but loads that take no longer than wrong
//! predictions explain: that such a one is slow is not known. A branch that takes longer itself waits for what it goes by,
//! and is not told. Where a comparison with memory is fused
//! with the branch and both take longer than wrong predictions explain, it is the load that is told.

use super::costly::SLOW_LOAD;
use super::{Finding, Ways, costly_enough, fused_load, surprises, waits_for_load};
use crate::analysis::Analysis;
use crate::attribute::WRONG_PREDICTION;
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
        // What takes longer waits for something else, as for the value that it goes by.
        let most = WRONG_PREDICTION * ways.rarer_share();
        let dear = costly.filter(|costly| (DEAR_BRANCH..=most).contains(&costly.cycles_each.low));
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

/// Adds the branch's part of what the first instruction behind an edge cost, if that may be the branch's.
fn with_successor(analysis: &Analysis, costs: &[Cost], mut cost: Cost, edge: &Edge) -> Cost {
    let Some(to) = edge.to else { return cost };
    let all = surprises::possible_into(analysis, to);
    let first = analysis.code.blocks[to.index()].first;
    let successor = costs[first.index()];
    if all > 0.0 && (is_quick(analysis, first) || may_be_the_branchs(analysis, first, &successor)) {
        let share = surprises::possible(analysis, edge) as f64 / all;
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

/// Whether a load first behind branches takes no longer than their wrong predictions explain beside its own second cache.
fn may_be_the_branchs(analysis: &Analysis, id: InstructionId, cost: &Cost) -> bool {
    let step = &analysis.code.instructions[id.index()].step;
    let is_load = step.loads && !step.stores && !step.repeats && step.control == Control::Next;
    let each = analysis.ruler.each(analysis.ruler.cycles(cost), cost.instructions);
    let is_slow = |each| surprises::is_slow_by_itself(analysis, id, each, SLOW_LOAD);
    is_load && step.work == Work::Simple && each.is_some_and(|each| !is_slow(each))
}
