//! Waiting until no thread of a program is in the tracer.

use crate::record::TraceError;
use crate::signal_sets::{Set, has_trap};
use crate::taken_up::{self, taken_up};
use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};
use timewise_target::attachable::AttachError;
use timewise_target::group::{self, Group};

/// How long its threads are waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lets threads run on that are in the tracer, or about to come into it, until all stand outside. One that is about to
/// restrict its system calls gets its `answer` meanwhile.
///
/// # Errors
/// If one does not come out.
pub fn outside(group: &mut Group, mut answer: impl FnMut()) -> Result<(), TraceError> {
    let deadline = Instant::now() + PATIENCE;
    let system = |what| move |cause| TraceError::System { what, cause };
    let mut moments = group::moments();
    let ours = taken_up(group.pid()).map_err(system("read what the program has mapped"))?;
    let mut unblocked = BTreeSet::new();
    loop {
        answer();
        let mut inside = Vec::new();
        for tracee in group.tracees() {
            let mut is_inside = || -> io::Result<bool> {
                let registers = tracee.registers()?;
                if [registers.rip, registers.rsp].iter().any(|&address| taken_up::is_in(&ours, address)) {
                    return Ok(true);
                }
                let is_pending =
                    has_trap(group.pid(), tracee.tid(), Set::Pending) && !tracee.was_sent(libc::SIGTRAP)?;
                // One that blocks it, and waits for something else, would never get it.
                if is_pending && has_trap(group.pid(), tracee.tid(), Set::Blocked) {
                    tracee.unblock(libc::SIGTRAP)?;
                    unblocked.insert(tracee.tid());
                }
                Ok(is_pending)
            };
            if !group.stands(tracee.tid()) || is_inside().unwrap_or(true) {
                inside.push(tracee.tid());
            }
        }
        if inside.is_empty() && group.all_stand()? {
            for tracee in group.tracees().into_iter().filter(|tracee| unblocked.contains(&tracee.tid())) {
                tracee.block(libc::SIGTRAP).map_err(system("set a signal mask of the program"))?;
            }
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(AttachError::Stuck(inside.first().copied().unwrap_or(group.pid())).into());
        }
        group.run_on(&inside, moments.next().unwrap_or_default())?;
    }
}
