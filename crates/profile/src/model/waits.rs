//! Where threads wait.

use super::{Place, StackId, ThreadId};

/// All that a thread waited at one place with one stack: off its processor, and not because another had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The thread that waited.
    pub thread: ThreadId,
    /// The instruction after the system call in which it waited, or the one that a page was missing for; `None`
    /// outside all known modules.
    pub place: Option<Place>,
    /// Callers, if stacks were taken.
    pub stack: Option<StackId>,
    /// How often it waited; `None` if it was only looked at from time to time, and how long is an estimate.
    pub times: Option<u64>,
    /// How long, all times together.
    pub duration_ns: u64,
}
