//! Processes that were forked from a traced one, and have its tracer in their memory, but no events.

use crate::former;
use crate::inject::{is_event, take_out};
use crate::record::TraceError;
use crate::rings::BASE;
use crate::taken_up::{self, taken_up};
use std::io;
use std::mem::offset_of;
use std::time::Duration;
use timewise_abi::tracing::TraceHeader;
use timewise_target::attachable::{self, AttachError};
use timewise_target::family;
use timewise_target::group::{self, Group};

/// Whether the tracer is in a process, or was when that was forked.
pub fn has_tracer(pid: i32) -> bool {
    taken_up(pid).is_ok_and(|ranges| !ranges.is_empty())
}

/// Takes out of a process, whose threads stand, the tracer of process `traced`, from which it was forked.
///
/// # Errors
/// If they share memory, or the system refuses.
pub fn take_copy_out(group: &Group, traced: i32) -> Result<(), TraceError> {
    let system = |what| move |cause| TraceError::System { what, cause };
    let pid = group.pid();
    if shares_memory(pid, traced) {
        let why = format!("it shares its memory with process {traced}, which is traced");
        return Err(AttachError::Unfit { pid, why }.into());
    }
    let tracees = group.tracees();
    let first = *tracees.first().ok_or(AttachError::Gone(pid))?;
    let ours = taken_up(pid).map_err(system("read what the program has mapped"))?;
    for tracee in &tracees {
        let registers = tracee.registers().map_err(system("read registers"))?;
        if taken_up::is_in(&ours, registers.rip) || taken_up::is_in(&ours, registers.rsp) {
            return Err(AttachError::Stuck(tracee.tid()).into());
        }
    }
    former::same_version(pid)?;
    let lowest = first.peek(BASE + offset_of!(TraceHeader, descriptors) as u64);
    let lowest = lowest.map_err(system("read the program's memory"))? as u32 as i32;
    let before = first.registers().map_err(system("read registers"))?;
    // Not switched off: they are events of the other process.
    let close = |descriptor| first.system_call(libc::SYS_close, [descriptor as u64, 0, 0, 0, 0, 0]).map(drop);
    let taken_out = events(pid, lowest).into_iter().try_for_each(close).and_then(|()| take_out(group));
    first.set_registers(&before).map_err(system("set registers"))?;
    taken_out.map_err(system("take a copy of the tracer out of the program"))
}

/// Takes it out of all that descend from process `pid` and have it, as what was forked and not traced: what is to be
/// said of those where that failed.
pub fn take_copies_out(pid: i32, patience: Duration) -> Vec<String> {
    let forked = family::descendants(pid).into_iter().filter(|&other| other != pid && has_tracer(other));
    let attempt = |other: i32| {
        // One that has restricted its system calls could be ended for ours.
        attachable::check(other)?;
        group::apart(|| former::take_out(&mut Group::stop(other, patience)?))
    };
    let failure = |other: i32| {
        let taken_out = attempt(other);
        let why = taken_out.err().filter(|_| has_tracer(other))?;
        Some(format!("the tracer stays in the memory of process {other}, switched off: {why}"))
    };
    forked.filter_map(failure).collect()
}

/// Descriptors of events that a process has open, from a number on: there the tracer puts its own.
fn events(pid: i32, lowest: i32) -> Vec<i32> {
    family::descriptors(pid).into_iter().filter(|&fd| fd >= lowest && is_event(pid, fd)).collect()
}

/// Whether two processes have the same memory, as by `vfork`, or nobody can tell; not if one of them is gone.
fn shares_memory(one: i32, other: i32) -> bool {
    const MEMORY: i32 = 1;
    // SAFETY: passes no memory.
    match unsafe { libc::syscall(libc::SYS_kcmp, one, other, MEMORY, 0, 0) } {
        0 => true,
        -1 => io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_shares_its_memory_with_itself_alone() {
        let own = std::process::id() as i32;
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        assert!(shares_memory(own, own));
        assert!(!shares_memory(own, child.id() as i32));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!shares_memory(own, i32::MAX));
    }
}
