//! Divisions and loads on which the program waits.

use super::{Costly, Finding, costly_enough, fused_load, surprises};
use crate::analysis::Analysis;
use crate::attribute::LONGEST_DIVISION;
use crate::code::InstructionId;
use crate::cost::{Cost, Estimate};
use timewise_isa::Work;

/// A division that takes fewer cycles is as cheap as what would replace it: a multiplication and a shift.
const DEAR_DIVISION: f64 = 4.0;

/// Cycles that no second cache takes.
pub const SLOW_LOAD: f64 = 20.0;

/// Hints on single instructions.
pub fn costly(analysis: &Analysis, costs: &[Cost]) -> Vec<Finding> {
    let of = |(index, cost): (usize, &Cost)| {
        let id = InstructionId(index as u32);
        let step = &analysis.code.instructions[index].step;
        // What is fused with a branch is judged with it.
        let next = InstructionId(index as u32 + 1);
        let has_next = next.index() < analysis.code.instructions.len();
        if has_next && fused_load(analysis, next) == Some(id) {
            return None;
        }
        // What controls the flow has hints of its own.
        let is_plain = step.control == timewise_isa::Control::Next;
        let costly = costly_enough(analysis, id, cost).filter(|_| is_plain)?;
        let (hint, least): (fn(Costly) -> Finding, f64) = match (step.work, step.loads) {
            (Work::Division | Work::Function, true) if loads_slowly(costly.cycles_each) => {
                (Finding::SlowLoad, LONGEST_DIVISION)
            }
            (Work::Division | Work::Function, _) => (Finding::Division, DEAR_DIVISION),
            (Work::Simple | Work::Pipelined, true) => (Finding::SlowLoad, SLOW_LOAD),
            _ => return None,
        };
        surprises::is_slow_by_itself(analysis, id, costly.cycles_each, least).then(|| hint(costly))
    };
    costs.iter().enumerate().filter_map(of).collect()
}

/// Whether a division that loads its operand takes so long that it waits for that.
pub fn loads_slowly(each: Estimate) -> bool {
    each.low >= LONGEST_DIVISION
}
