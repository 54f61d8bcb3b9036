//! What counting keeps of each interval of an execution.

use super::{BlockId, IntervalId, ThreadId};

/// A stretch of a thread's execution, of the number of its instructions that was asked for; a thread's last one
/// may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The thread; a row that stands for several has the intervals of one after those of the other.
    pub thread: ThreadId,
    /// Instructions that the thread had executed before.
    pub first_instruction: u64,
    /// Instructions of the interval.
    pub instructions: u64,
}

/// How much of an interval was executed in one block: a part of its basic block vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalBlock {
    /// The interval.
    pub interval: IntervalId,
    /// The block.
    pub block: BlockId,
    /// Instructions executed of the block: executions times its size, but for executions that the interval does
    /// not hold as a whole.
    pub instructions: u64,
}
