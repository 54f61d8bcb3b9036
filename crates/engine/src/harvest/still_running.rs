//! Processes that still run when the program itself has ended.

use crate::arena;
use std::sync::atomic::Ordering;
use std::time::Duration;
use timewise_abi::process::{ProcessRecord, state};
use timewise_target::group::Group;

/// How long is waited for threads that do not stop, as in a child's `vfork`.
const PATIENCE: Duration = Duration::from_secs(1);

/// Stops a process that still runs until what is returned is dropped, if it can be: its counts are then those of one
/// moment, as if it had been killed there.
pub fn stop(process: &ProcessRecord) -> Option<Group> {
    let pid = process.pid.load(Ordering::Relaxed) as i32;
    // Where it has another number than here, that one may be somebody else's.
    let runs = process.state.load(Ordering::Acquire) == state::RUNNING && arena::is_mapped_in(pid);
    runs.then(|| Group::stop(pid, PATIENCE).ok()).flatten()
}
