//! What a program does natively that ran already when it was first watched.

use super::{Place, RunId};

/// How often a program executed one place natively in some of the time of a sampling run, as breakpoints counted it.
/// Executions of the same place in a counting run tell how much more or less it did there (`docs/attach.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The sampling run.
    pub run: RunId,
    /// The first instruction of a block.
    pub place: Place,
    /// Executions seen.
    pub executions: u64,
    /// CPU time of the program in which they were counted, without what counting them took, nanoseconds.
    pub cpu_ns: u64,
    /// What of `executions` may be chance, as a variance: by how it differed from one stretch of the time to the next.
    pub variance: u64,
}
