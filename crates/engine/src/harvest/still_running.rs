//! Processes that still run when the program itself has ended.

use crate::arena::Arena;
use crate::census::Census;
use std::time::Duration;
use timewise_target::group::Group;
use timewise_target::trace::Tracee;

/// How long is waited for threads that do not stop, as in a child's `vfork`.
const PATIENCE: Duration = Duration::from_secs(1);

/// Stops the process whose record is at `record`, if it still runs, until what is returned is dropped, if it can be: its
/// counts are then those of one moment, as if it had been killed there.
pub fn stop(arena: &Arena, census: &Census, record: u64) -> Option<Group> {
    let found = census.find(arena.process(record)?).counted;
    let mut stopped = found.into_iter().filter_map(|pid| Group::stop(pid, PATIENCE).ok());
    stopped.find(|group| group.tracees().into_iter().any(|tracee| is_of(arena, tracee, record)))
}

/// Whether a thread belongs to the process whose record is at `record`.
fn is_of(arena: &Arena, tracee: Tracee, record: u64) -> bool {
    let area = tracee.registers().ok().and_then(|stopped| arena.area_of(&stopped));
    // SAFETY: within the file; its thread stands.
    area.is_some_and(|area| unsafe { (*area).process == record && (*area).sharing == 0 })
}
