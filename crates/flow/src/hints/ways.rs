//! How often conditional branches went which way, and what that can cost.

use crate::analysis::Analysis;
use crate::code::{Edge, Instruction, InstructionId};
use timewise_isa::Control;
use timewise_profile::{EdgeKind, Offset, Place};

/// A branch that goes one way less often than this is predicted well enough.
const RARER_SHARE: f64 = 1.0 / 16.0;

/// How a branch went.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ways {
    /// How often it was taken.
    pub taken: u64,
    /// How often nobody knows where it went: a signal that arrived right behind it hides that.
    pub unseen: u64,
    /// How often it was executed.
    pub executions: u64,
}

impl Ways {
    /// Those of a conditional branch; `None` for all else.
    pub fn of(analysis: &Analysis, id: InstructionId) -> Option<Ways> {
        let code = &analysis.code;
        let Instruction { block: from, step } = code.instructions[id.index()];
        let (Control::Branch { target, .. } | Control::CountBranch { target }) = step.control else {
            return None;
        };
        let block = &code.blocks[from.index()];
        let target = Place { offset: Offset(target), ..block.place };
        let into = code.block_at(target).map_or(&[][..], |to| code.edges_into(to));
        let out = code.edges_out();
        let count = |edges: &[Edge], kind| -> u64 {
            let ours = edges.iter().filter(|edge| edge.from == Some(from) && edge.kind == kind);
            ours.map(|edge| edge.count).sum()
        };
        let taken = count(into, EdgeKind::Branch) + count(out, EdgeKind::Branch);
        Some(Ways { taken, unseen: count(out, EdgeKind::External), executions: block.executions })
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
