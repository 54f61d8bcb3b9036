//! At which granularity cycles are summed.

use std::sync::Arc;

/// What instructions are taken together.
#[derive(Debug, Clone)]
pub enum Units {
    /// Each instruction is a unit.
    Instructions,
    /// The unit (a block, a function, a line) of every static instruction.
    Table(Arc<[u32]>),
    /// The whole program is one unit.
    Whole,
}

impl Units {
    /// The unit of instructions that a table does not name.
    pub const ELSEWHERE: u32 = u32::MAX;

    /// The unit of an instruction.
    #[inline]
    pub fn of(&self, instruction: u32) -> u32 {
        match self {
            Self::Instructions => instruction,
            Self::Table(table) => table.get(instruction as usize).copied().unwrap_or(Self::ELSEWHERE),
            Self::Whole => 0,
        }
    }
}
