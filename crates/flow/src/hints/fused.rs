//! Comparisons with memory that are fused with the branch behind them. The processor executes both as one, so what the
//! load takes is seen at the branch.

use super::Ways;
use super::costly::SLOW_LOAD;
use crate::analysis::Analysis;
use crate::attribute::WRONG_PREDICTION;
use crate::code::InstructionId;
use crate::cost::Estimate;
use timewise_isa::{Control, Work};

/// The comparison that loads and is fused with this branch.
pub fn fused_load(analysis: &Analysis, branch: InstructionId) -> Option<InstructionId> {
    let code = &analysis.code;
    let of = |id: InstructionId| &code.instructions[id.index()];
    let Control::Branch { .. } = of(branch).step.control else { return None };
    let before = InstructionId(branch.0.checked_sub(1)?);
    let step = of(before).step;
    let compares = step.fuses && step.loads && !step.stores && step.work == Work::Simple;
    (compares && of(before).block == of(branch).block).then_some(before)
}

/// Whether an execution of a branch and of what it is fused with takes so long that it is the load that is slow: more than
/// wrong predictions explain.
pub fn waits_for_load(cycles_each: Estimate, ways: Ways) -> bool {
    cycles_each.low >= SLOW_LOAD + WRONG_PREDICTION * ways.rarer_share()
}
