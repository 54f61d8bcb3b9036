//! A tracer that is in a process before that is attached to: that of the process from which it was forked, or its own, of
//! a timewise that was killed. It is taken out.

use crate::forked;
use crate::inject::{end_events, take_out as take_out_of};
use crate::outside::outside;
use crate::record::TraceError;
use crate::rings::BASE;
use crate::taken_up::used_slots;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use timewise_abi::tracing::{TraceHeader, TraceSlot, VERSION};
use timewise_injection::{Host, Occupant};
use timewise_target::attachable::AttachError;
use timewise_target::group::Group;
use timewise_target::{memory, user_dispatch};

/// Takes it out of a process whose threads stand, if there is one.
///
/// # Errors
/// If somebody traces or counts the process, if calls that are made in its name would come to itself, or if the system
/// refuses.
pub fn take_out(group: &mut Group) -> Result<(), TraceError> {
    let pid = group.pid();
    if group.tracees().into_iter().any(|tracee| user_dispatch::asked_for(tracee).is_some()) {
        let why = "its system calls come to itself (PR_SET_SYSCALL_USER_DISPATCH), as the tracer's would; count or \
                   sample it"
            .into();
        return Err(AttachError::Unfit { pid, why }.into());
    }
    let found = Occupant::of(pid).map_err(system("read what the program has mapped"))?;
    match found {
        None => Ok(()),
        Some(Occupant::Tracing { traced, .. }) if traced != pid => forked::take_copy_out(group, traced),
        Some(Occupant::Tracing { host: Host::Gone, .. }) => take_orphan_out(group),
        Some(occupant) => Err(occupant.obstacle(pid).into()),
    }
}

/// Takes out what a timewise left that was killed: its own events are gone, those of the threads are not.
fn take_orphan_out(group: &mut Group) -> Result<(), TraceError> {
    let pid = group.pid();
    same_version(pid)?;
    switch_off(pid).map_err(system("switch off what traced the program before"))?;
    // Nobody watches what the program restricts any more: no thread waits for an answer.
    outside(group, || ())?;
    let first = *group.tracees().first().ok_or(AttachError::Gone(pid))?;
    let before = first.registers().map_err(system("read registers"))?;
    let descriptors = descriptors(pid).map_err(system("read the program's memory"))?;
    end_events(first, pid, descriptors);
    first.set_registers(&before).map_err(system("set registers"))?;
    // Signals that came before are delivered first.
    outside(group, || ())?;
    let first = *group.tracees().first().ok_or(AttachError::Gone(pid))?;
    let before = first.registers().map_err(system("read registers"))?;
    let taken_out = take_out_of(group);
    first.set_registers(&before).map_err(system("set registers"))?;
    taken_out.map_err(system("take out what traced the program before"))
}

/// Sees to it that what is in a process is laid out as ours.
///
/// # Errors
/// If another version put it there.
pub fn same_version(pid: i32) -> Result<(), TraceError> {
    let version = memory::word(pid, BASE + offset_of!(TraceHeader, version) as u64);
    if version.is_none_or(|version| version as u32 != VERSION) {
        let why =
            "a timewise of another version traced it, or a process that it was forked from; start it anew"
                .into();
        return Err(AttachError::Unfit { pid, why }.into());
    }
    Ok(())
}

/// Has the threads of process `pid` close their events at the next signal.
fn switch_off(pid: i32) -> io::Result<()> {
    let memory = File::options().write(true).open(format!("/proc/{pid}/mem"))?;
    memory.write_all_at(&0_u32.to_ne_bytes(), BASE + offset_of!(TraceHeader, active) as u64)
}

/// Descriptors that the threads of process `pid` opened.
fn descriptors(pid: i32) -> io::Result<Vec<i32>> {
    // One that no thread of it touched yet cannot be read, and has none.
    let both = |(_, slot): (i32, u64)| {
        [offset_of!(TraceSlot, sampling), offset_of!(TraceSlot, breakpoint)]
            .map(|field| memory::word(pid, slot + field as u64).unwrap_or_default() as u32 as i32)
    };
    Ok(used_slots(pid)?.into_iter().flat_map(both).collect())
}

fn system(what: &'static str) -> impl FnOnce(io::Error) -> TraceError {
    move |cause| TraceError::System { what, cause }
}
