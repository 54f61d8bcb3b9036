//! What it means for the routine of a block that control came to it from another.

use timewise_flow::{Code, Routine, RoutineId};
use timewise_isa::Control;
use timewise_profile::{BlockId, EdgeKind};

/// Which blocks are of which routine, and where routines begin.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    /// Executed code.
    pub code: &'a Code,
    /// All routines.
    pub routines: &'a [Routine],
    /// The routine of each block.
    pub owner: &'a [RoutineId],
}

/// A way from one block to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transition {
    /// Within an activation of the routine, from this block: that itself, or the call that returned.
    Within(BlockId),
    /// A call: an activation begins, and the one before waits.
    Call,
    /// A jump to another routine, which begins in the place of the one before.
    Jump,
    /// Control comes back into an activation from those that it called, but not from behind a call: an exception,
    /// a long jump. The path that the activation was on is over.
    Unwinding,
}

impl Blocks<'_> {
    /// The routine of a block.
    pub fn owner(&self, block: BlockId) -> RoutineId {
        self.owner[block.index()]
    }

    /// Whether a routine begins with the block.
    pub fn is_start(&self, block: BlockId) -> bool {
        self.code.blocks[block.index()].place == self.routines[self.owner(block).index()].place
    }

    /// The call that control may have returned from when it comes to a block of the same routine.
    pub fn call_before(&self, block: BlockId) -> Option<BlockId> {
        let call = self.code.call_returning_to(self.code.blocks[block.index()].place)?;
        (self.owner(call) == self.owner(block)).then_some(call)
    }

    /// By which kind of edge control leaves a block, as far as that matters here.
    pub fn kind(&self, from: BlockId) -> EdgeKind {
        match self.code.control(from) {
            Some(Control::Call { .. }) => EdgeKind::Call,
            Some(Control::IndirectCall) => EdgeKind::IndirectCall,
            Some(Control::Return { .. }) => EdgeKind::Return,
            Some(Control::IndirectJump) => EdgeKind::IndirectJump,
            Some(Control::SystemCall) => EdgeKind::SystemCall,
            Some(Control::Jump { .. }) => EdgeKind::Jump,
            Some(Control::Branch { .. } | Control::CountBranch { .. } | Control::Transaction { .. }) => {
                EdgeKind::Branch
            }
            Some(Control::Next | Control::Unsupported) | None => EdgeKind::Fallthrough,
        }
    }

    /// What a way from `from` to `to` of a kind that is not [`EdgeKind::External`] means.
    pub fn transition(&self, from: BlockId, to: BlockId, kind: EdgeKind) -> Transition {
        let same = self.owner(from) == self.owner(to);
        let call = || self.call_before(to);
        match kind {
            // A call of the next instruction reads the program counter.
            EdgeKind::Call if call() == Some(from) && !self.is_start(to) => Transition::Within(from),
            EdgeKind::Call | EdgeKind::IndirectCall => Transition::Call,
            EdgeKind::Return => match call() {
                Some(call) => Transition::Within(call),
                None if same => Transition::Within(from),
                None => Transition::Unwinding,
            },
            _ if same => Transition::Within(from),
            EdgeKind::IndirectJump if !self.is_start(to) => Transition::Unwinding,
            _ => Transition::Jump,
        }
    }
}
