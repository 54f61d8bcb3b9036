//! How often conditional branches went which way, and what that can cost.

use crate::analysis::Analysis;
use crate::code::{Edge, InstructionId};
use timewise_isa::Control;
use timewise_profile::{EdgeKind, Place};

/// A branch that goes one way less often than this is predicted well enough.
const RARER_SHARE: f64 = 0.05;

/// How a branch went.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ways {
    /// How often it was taken.
    pub taken: u64,
    /// How often it was executed.
    pub executions: u64,
}

impl Ways {
    /// Those of a conditional branch; `None` for all else.
    pub fn of(analysis: &Analysis, id: InstructionId) -> Option<Ways> {
        let code = &analysis.code;
        let instruction = &code.instructions[id.index()];
        if !matches!(instruction.step.control, Control::Branch { .. }) {
            return None;
        }
        let block = &code.blocks[instruction.block.index()];
        let next = Place { offset: block.end, ..block.place };
        let into = code.block_at(next).map_or(&[][..], |next| code.edges_into(next));
        let is_ours =
            |edge: &&Edge| edge.from == Some(instruction.block) && edge.kind == EdgeKind::Fallthrough;
        let fell_through: u64 =
            into.iter().chain(code.edges_out()).filter(is_ours).map(|edge| edge.count).sum();
        let executions = block.executions;
        Some(Ways { taken: executions.saturating_sub(fell_through), executions })
    }

    /// Share of the executions in which it was taken.
    pub fn taken_share(self) -> f64 {
        self.taken as f64 / self.executions.max(1) as f64
    }

    /// Share of the way that it went less often.
    pub fn rarer_share(self) -> f64 {
        self.taken_share().min(1.0 - self.taken_share())
    }

    /// Whether one way is so rare that the branch is predicted well enough.
    pub fn is_predictable(self) -> bool {
        self.rarer_share() < RARER_SHARE
    }
}
