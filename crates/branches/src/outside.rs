//! Waiting until no thread of a program is in the tracer.

use crate::record::TraceError;
use crate::signal_sets::{Set, has_trap};
use std::io;
use std::time::{Duration, Instant};
use timewise_abi::RESERVED_HIGH;
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
    let mut moments = group::moments();
    loop {
        answer();
        let mut inside = Vec::new();
        for tracee in group.tracees() {
            let is_inside = || -> io::Result<bool> {
                let registers = tracee.registers()?;
                let is_ours = |address: u64| RESERVED_HIGH.contains(&address);
                if is_ours(registers.rip) || is_ours(registers.rsp) {
                    return Ok(true);
                }
                let is_pending = has_trap(group.pid(), tracee.tid(), Set::Pending);
                // One that blocks it, and waits for something else, would never get it.
                if is_pending && has_trap(group.pid(), tracee.tid(), Set::Blocked) {
                    tracee.unblock(libc::SIGTRAP)?;
                }
                Ok(is_pending)
            };
            if !group.stands(tracee.tid()) || is_inside().unwrap_or(true) {
                inside.push(tracee.tid());
            }
        }
        if inside.is_empty() && group.all_stand()? {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(AttachError::Stuck(inside.first().copied().unwrap_or(group.pid())).into());
        }
        group.run_on(&inside, moments.next().unwrap_or_default())?;
    }
}
