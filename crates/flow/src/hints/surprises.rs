//! What branches that were predicted wrongly explain of the time of what stands first behind them: it waits until it was
//! fetched, be it a load or not.

use crate::analysis::Analysis;
use crate::attribute::WRONG_PREDICTION;
use crate::code::{Edge, InstructionId};
use crate::cost::Estimate;
use timewise_profile::BlockId;

/// How often a branch can have been predicted wrongly and then gone along this edge: as often as it went another way at
/// most, as that is what it was predicted to do. Never for edges of code that always leads there.
pub fn possible(analysis: &Analysis, edge: &Edge) -> u64 {
    let Some(from) = edge.from.map(|from| &analysis.code.blocks[from.index()]) else { return 0 };
    let is_guessed =
        from.length > 0 && analysis.code.instructions[from.last().index()].step.control.is_guessed();
    if is_guessed { edge.count.min(from.executions.saturating_sub(edge.count)) } else { 0 }
}

/// How often at most branches before a block were predicted wrongly and went there.
pub fn possible_into(analysis: &Analysis, block: BlockId) -> f64 {
    analysis.code.edges_into(block).iter().map(|edge| possible(analysis, edge) as f64).sum()
}

/// Cycles of an execution of an instruction that wrong predictions explain: 0 unless it stands first behind branches.
pub fn explained(analysis: &Analysis, id: InstructionId) -> f64 {
    let at = analysis.code.instructions[id.index()].block;
    let block = &analysis.code.blocks[at.index()];
    match block.first == id && block.executions > 0 {
        true => WRONG_PREDICTION * (possible_into(analysis, at) / block.executions as f64).min(1.0),
        false => 0.0,
    }
}

/// Whether an instruction takes so long that it is slow by itself: `least` cycles more than wrong predictions explain.
pub fn is_slow_by_itself(analysis: &Analysis, id: InstructionId, each: Estimate, least: f64) -> bool {
    each.low >= least + explained(analysis, id)
}
