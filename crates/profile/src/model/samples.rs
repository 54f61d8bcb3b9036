//! What sampling collects.

use super::{Place, StackId, ThreadId};

/// One frame of a call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackNode {
    /// The caller; `None` for the outermost frame.
    pub parent: Option<StackId>,
    /// Return address in the caller's code (the call is the instruction before it); of a caller that a signal
    /// interrupted, the byte behind the first of the interrupted instruction.
    pub return_place: Place,
}

/// One sample of the native run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The thread that was interrupted.
    pub thread: ThreadId,
    /// Nanoseconds from the start of the run.
    pub time_ns: u64,
    /// CPU time of the thread since its previous sample; 0 when the clock counts cycles instead.
    pub weight_ns: u64,
    /// User cycles since the previous sample, when the clock counts cycles.
    pub weight_cycles: Option<u64>,
    /// The instruction that would have executed next; `None` outside all known modules.
    pub place: Option<Place>,
    /// True if the kernel was executing.
    pub kernel: bool,
    /// Callers, if stacks were taken.
    pub stack: Option<StackId>,
}
