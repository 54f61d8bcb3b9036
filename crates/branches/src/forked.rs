//! Processes that were forked from a traced one, and have its tracer in their memory, but no events.

use crate::record::TraceError;
use crate::rings::BASE;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::Duration;
use timewise_abi::RESERVED_HIGH;
use timewise_abi::tracing::{MAGIC, TraceHeader};
use timewise_target::attachable::AttachError;
use timewise_target::group::Group;
use timewise_target::{family, maps};

/// Whether the tracer is in a process, or was when that was forked.
pub fn has_tracer(pid: i32) -> bool {
    maps::ranges(pid).is_ok_and(|ranges| ranges.iter().any(|range| range.start == BASE))
}

/// Takes out of a process, whose threads stand, the tracer of the one that it was forked from, if that is in it.
///
/// # Errors
/// If the tracer is its own, or memory is shared with the process whose it is, or the system refuses.
pub fn take_copy_out(group: &Group) -> Result<(), TraceError> {
    let system = |what| move |cause| TraceError::System { what, cause };
    let pid = group.pid();
    if !has_tracer(pid) {
        return Ok(());
    }
    let unfit = |why: String| TraceError::from(AttachError::Unfit { pid, why });
    let memory = File::open(format!("/proc/{pid}/mem")).map_err(system("read the program's memory"))?;
    let word = |offset: usize| -> io::Result<u64> {
        let mut bytes = [0; size_of::<u64>()];
        memory.read_exact_at(&mut bytes, BASE + offset as u64)?;
        Ok(u64::from_ne_bytes(bytes))
    };
    let header = |offset| word(offset).map_err(system("read the program's memory"));
    let owner = header(offset_of!(TraceHeader, pid))? as u32 as i32;
    if header(offset_of!(TraceHeader, magic))? != MAGIC || owner == pid {
        return Err(unfit("timewise traces it already, or counts it; end that first".into()));
    }
    if shares_memory(pid, owner) {
        return Err(unfit(format!("it shares its memory with process {owner}, which is traced")));
    }
    let tracees = group.tracees();
    let first = *tracees.first().ok_or(AttachError::Gone(pid))?;
    for tracee in &tracees {
        let registers = tracee.registers().map_err(system("read registers"))?;
        if RESERVED_HIGH.contains(&registers.rip) || RESERVED_HIGH.contains(&registers.rsp) {
            return Err(AttachError::Stuck(tracee.tid()).into());
        }
    }
    let lowest = header(offset_of!(TraceHeader, descriptors))? as u32 as i32;
    let before = first.registers().map_err(system("read registers"))?;
    // What the program asked for stands there as the kernel wants it.
    let action = BASE + offset_of!(TraceHeader, action) as u64;
    let arguments = [libc::SIGTRAP as u64, action, 0, size_of::<u64>() as u64, 0, 0];
    let Range { start, end } = RESERVED_HIGH;
    let close = |descriptor| first.system_call(libc::SYS_close, [descriptor as u64, 0, 0, 0, 0, 0]).map(drop);
    let taken_out = first
        .system_call(libc::SYS_rt_sigaction, arguments)
        .and_then(|_| events(pid, lowest).into_iter().try_for_each(close))
        .and_then(|()| first.system_call(libc::SYS_munmap, [start, end - start, 0, 0, 0, 0]));
    first.set_registers(&before).map_err(system("set registers"))?;
    taken_out.map_err(system("take a copy of the tracer out of the program")).map(drop)
}

/// Takes it out of all that descend from process `pid` and have it, as what was forked and not traced: what is to be
/// said of those where that failed.
pub fn take_copies_out(pid: i32, patience: Duration) -> Vec<String> {
    let forked = family::descendants(pid).into_iter().filter(|&other| other != pid && has_tracer(other));
    let failure = |other: i32| {
        let taken_out =
            Group::stop(other, patience).map_err(TraceError::from).and_then(|group| take_copy_out(&group));
        let why = taken_out.err().filter(|_| has_tracer(other))?;
        Some(format!("the tracer stays in the memory of process {other}, switched off: {why}"))
    };
    forked.filter_map(failure).collect()
}

/// Descriptors of events that a process has open, from a number on: there the tracer puts its own.
fn events(pid: i32, lowest: i32) -> Vec<i32> {
    family::descriptors(pid).into_iter().filter(|&fd| fd >= lowest && is_event(pid, fd)).collect()
}

/// Whether a descriptor of a process is an event: the program may have closed ours, and opened another file.
pub fn is_event(pid: i32, descriptor: i32) -> bool {
    let link = std::fs::read_link(format!("/proc/{pid}/fd/{descriptor}"));
    descriptor > 0 && link.is_ok_and(|to| to.to_string_lossy().contains("perf_event"))
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
