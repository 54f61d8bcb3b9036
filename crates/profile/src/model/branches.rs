//! What branch tracing collects.

use super::{Place, ProcessId};

/// How often a branch was taken in traces of a process, told apart by where the thread branched next. A trace
/// starts at a random moment, so these are shares of all that was executed, not counts of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenBranch {
    /// Which process.
    pub process: ProcessId,
    /// The branch, call or return.
    pub from: Place,
    /// The instruction that it led to.
    pub to: Place,
    /// The next branch that was taken, up to which the thread ran on in a straight line; `None` where the trace
    /// ended.
    pub next: Option<Place>,
    /// How often.
    pub count: u64,
    /// The same, with traces weighted so that code counts as often as it runs rather than as long as it takes:
    /// [`Self::WEIGHT_OF_ONE`] each on average.
    pub weight: u64,
}

impl TakenBranch {
    /// The weight that a branch has on average each time that it was seen.
    pub const WEIGHT_OF_ONE: u64 = 1000;
}
