//! What counting collects.

use super::{BlockId, ProcessId};
use serde::{Deserialize, Serialize};

/// Executions of a block by a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCount {
    /// Which block.
    pub block: BlockId,
    /// Which process.
    pub process: ProcessId,
    /// How often.
    pub executions: u64,
}

/// How control goes along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EdgeKind {
    /// No branch: the next block follows in memory (also a conditional branch not taken).
    Fallthrough,
    /// Unconditional direct jump.
    Jump,
    /// Conditional branch, taken.
    Branch,
    /// Indirect jump.
    IndirectJump,
    /// Direct call.
    Call,
    /// Indirect call.
    IndirectCall,
    /// Return.
    Return,
    /// System call, to the instruction after it.
    SystemCall,
    /// From nowhere or to nowhere: a thread's start or end, a signal's arrival or return.
    External,
}

/// Times that control went from one block to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeCount {
    /// Where from; `None` when control came from outside (start of a thread, a signal).
    pub from: Option<BlockId>,
    /// Where to; `None` when it left, or went to an instruction that faulted.
    pub to: Option<BlockId>,
    /// In which way.
    pub kind: EdgeKind,
    /// Which process.
    pub process: ProcessId,
    /// How often.
    pub count: u64,
}

/// What calls cost that went from one block to another (OptiWISE, section IV-D).
///
/// An executed instruction is charged to a call site only where the site's activation is the most recent
/// one of its function. So the instructions of a function's blocks and of its call sites add up to its
/// total, in which recursion is counted once; and likewise those of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallCost {
    /// The block that ends in the call.
    pub site: BlockId,
    /// The block that the call led to; of an imported function its linkage stub.
    pub callee: BlockId,
    /// Which process.
    pub process: ProcessId,
    /// Instructions executed from the callee's first to its return, those of its own callees included.
    pub instructions: u64,
}
