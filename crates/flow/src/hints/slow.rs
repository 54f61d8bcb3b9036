//! What slow instructions do.

use super::costly::loads_slowly;
use super::{Ways, fused_load, surprises, waits_for_load};
use crate::analysis::Analysis;
use crate::code::InstructionId;
use crate::cost::Cost;
use timewise_isa::{Control, Work};

/// Below this many cycles an instruction is not slow.
const SLOW_CYCLES: f64 = 8.0;

/// What an instruction of this cost does if it is slow, in a few words, which is as much as is known: why it is slow was
/// not measured. Of one that may wait for a branch before it, it is not known.
pub fn slow(analysis: &Analysis, id: InstructionId, cost: &Cost) -> Option<&'static str> {
    let each = analysis.ruler.each(analysis.ruler.cycles(cost), cost.instructions)?;
    let is_slow = surprises::is_slow_by_itself(analysis, id, each, SLOW_CYCLES);
    if !is_slow || !analysis.quality.costs_hold() {
        return None;
    }
    let step = &analysis.code.instructions[id.index()].step;
    let kind = match (step.control, step.work) {
        (Control::SystemCall, _) => "a system call",
        (Control::Return { .. }, _) => "a slow return",
        (Control::Branch { .. }, _) => {
            let ways = Ways::of(analysis, id)?;
            match fused_load(analysis, id) {
                Some(_) if waits_for_load(each, ways) => "fused with a slow load",
                // It is predicted: what it waits for is not known.
                _ if ways.is_predictable() => return None,
                _ => "a slow branch",
            }
        }
        (Control::CountBranch { .. }, _) => "a slow branch",
        (Control::IndirectJump | Control::IndirectCall, _) => "a slow indirect branch",
        (_, Work::Division | Work::Function) if step.loads && loads_slowly(each) => "a slow load",
        (_, Work::Division) if step.loads => "a division or its load",
        (_, Work::Division) => "a division",
        (_, Work::Function) => "a slow computation",
        _ if step.repeats => "a string operation",
        (_, Work::Serial) => "serialising",
        _ if step.loads => "a slow load",
        _ if step.stores => "a slow store",
        _ => return None,
    };
    Some(kind)
}
