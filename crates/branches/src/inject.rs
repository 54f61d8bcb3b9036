//! Putting the tracer into a program that is stopped, and taking it out again.

use crate::forked;
use crate::record::TraceError;
use crate::rings::{BASE, Rings, SCRATCH};
use crate::taken_up::{self, COPIED, PRIVATE, taken_up};
use crate::unmask;
use std::io;
use std::mem::offset_of;
use std::ops::Range;
use std::sync::atomic::Ordering;
use timewise_abi::tracing::{BENCHES, ENTRY_BYTES, LARGE_WORK, TraceHeader, entry};
use timewise_abi::{IMAGE, LARGE_PAGE};
use timewise_injection::{Image, Payload};
use timewise_target::group::Group;
use timewise_target::locking::{self, Locks};
use timewise_target::trace::Tracee;

/// Maps the tracer, sets the handler, and makes a thread of the program ready.
///
/// # Errors
/// What the system refused. The program can still be released to run natively.
pub fn inject(rings: &Rings, payload: &Payload, tracee: Tracee) -> Result<(), TraceError> {
    let system = |what| move |cause| TraceError::System { what, cause };
    const LOCKS: &str = "change what memory the program locks";
    let locks = Locks::lift(tracee).map_err(system(LOCKS))?;
    let mapped = map_all(rings, payload, tracee, locks);
    locks.put_back(tracee).map_err(system(LOCKS))?;
    mapped?;
    set_handler(rings, payload, tracee).map_err(system("set a signal handler in the program"))?;
    tracee
        .run_to_trap(entry(payload, entry::PREPARE), [BASE, 0], rings.first_stack())
        .map_err(system("make the program's first thread ready"))?;
    match rings.header().refusal.load(Ordering::Relaxed) {
        0 => Ok(()),
        error => Err(TraceError::Events(io::Error::from_raw_os_error(error as i32))),
    }
}

/// Maps the tracer into the program.
fn map_all(rings: &Rings, payload: &Payload, tracee: Tracee, locks: Locks) -> Result<(), TraceError> {
    let system = |what| move |cause| TraceError::System { what, cause: locking::told(cause) };
    map_private(tracee).map_err(|cause| match cause.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => TraceError::WritableCodeDenied,
        _ => system("map memory into the program")(cause),
    })?;
    let mapped =
        timewise_injection::map(tracee, rings.file(), BASE, payload, rings.image_offset(), Image::Copied);
    if let Err(cause) = mapped {
        if !forked::has_tracer(tracee.tid()) {
            // Nothing else would tell that they are ours.
            unmap(tracee, PRIVATE).map_err(system("unmap memory of the program"))?;
        }
        return Err(system("map the tracer into the program")(cause));
    }
    let shared = BASE..BASE + rings.file().size();
    for ours in [shared.clone(), PRIVATE] {
        // A dump would have all of it made that is only reserved.
        let _ = advise(tracee, ours.clone(), libc::MADV_DONTDUMP);
        locks.leave_out(tracee, ours).map_err(system("unlock memory of the tracer"))?;
    }
    // A thread that takes a slot opens it.
    let slots = BASE + rings.header().slots..shared.end;
    for closed in [slots, BENCHES..LARGE_WORK] {
        protect(tracee, closed, libc::PROT_NONE).map_err(system("protect memory of the tracer"))?;
    }
    Ok(())
}

/// Unmaps all of it, and nothing else: the program may have mapped what lies between. No thread may be in it. `SIGTRAP` is
/// handled as the program asked for last, of which the tracer knows unless nobody watched any more, and blocked by the
/// threads that it believes to block it. Changes registers of the first thread.
///
/// # Errors
/// The system's.
pub fn take_out(group: &Group) -> io::Result<()> {
    let Some(&tracee) = group.tracees().first() else { return Ok(()) };
    unmask::block_again(group)?;
    const SIZE: u64 = size_of::<u64>() as u64;
    let set = |new: u64, old: u64| {
        tracee.system_call(libc::SYS_rt_sigaction, [libc::SIGTRAP as u64, new, old, SIZE, 0, 0])
    };
    let ours = taken_up(tracee.tid())?;
    set(0, BASE + SCRATCH)?;
    if taken_up::is_in(&ours, tracee.peek(BASE + SCRATCH)?) {
        // What it asked for stands there as the kernel wants it.
        set(BASE + offset_of!(TraceHeader, action) as u64, 0)?;
    }
    ours.into_iter().try_for_each(|range| unmap(tracee, range))
}

fn unmap(tracee: Tracee, range: Range<u64>) -> io::Result<()> {
    let Range { start, end } = range;
    tracee.system_call(libc::SYS_munmap, [start, end - start, 0, 0, 0, 0]).map(drop)
}

/// Switches events off and closes them, in the name of a thread that stands: those of the descriptors of process `pid`
/// that are any.
pub fn end_events(tracee: Tracee, pid: i32, descriptors: impl IntoIterator<Item = i32>) {
    const DISABLE: u64 = timewise_target::perf::sys::DISABLE as u64;
    for descriptor in descriptors.into_iter().filter(|&descriptor| is_event(pid, descriptor)) {
        // Processes that it forked have it open, too. One that the program closed meanwhile is no loss.
        let _ = tracee.system_call(libc::SYS_ioctl, [descriptor as u64, DISABLE, 0, 0, 0, 0]);
        let _ = tracee.system_call(libc::SYS_close, [descriptor as u64, 0, 0, 0, 0, 0]);
    }
}

/// Whether a descriptor of a process is an event: the program may have closed ours, and opened another file.
pub fn is_event(pid: i32, descriptor: i32) -> bool {
    let link = std::fs::read_link(format!("/proc/{pid}/fd/{descriptor}"));
    descriptor > 0 && link.is_ok_and(|to| to.to_string_lossy().contains("perf_event"))
}

/// Maps what is not shared: memory that is used only as far as threads need it.
fn map_private(tracee: Tracee) -> io::Result<()> {
    let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let Range { start, end } = PRIVATE;
    let arguments = [start, end - start, protection as u64, flags as u64, u64::MAX, 0];
    let got = tracee.system_call(libc::SYS_mmap, arguments)?;
    if got != start {
        return Err(io::Error::from_raw_os_error(libc::EEXIST));
    }
    // Processes that the program forks need the image alone. What the kernel will not do for us it need not.
    let _ = advise(tracee, PRIVATE.start..COPIED.start, libc::MADV_DONTFORK);
    let _ = advise(tracee, LARGE_WORK..PRIVATE.end, libc::MADV_HUGEPAGE);
    // Now, rather than in the midst of the first trace.
    for first in [LARGE_WORK, IMAGE] {
        let _ = advise(tracee, first..first + LARGE_PAGE, libc::MADV_POPULATE_WRITE);
    }
    Ok(())
}

fn protect(tracee: Tracee, range: Range<u64>, protection: i32) -> io::Result<()> {
    let Range { start, end } = range;
    tracee.system_call(libc::SYS_mprotect, [start, end - start, protection as u64, 0, 0, 0]).map(drop)
}

fn advise(tracee: Tracee, range: Range<u64>, advice: i32) -> io::Result<()> {
    let Range { start, end } = range;
    tracee.system_call(libc::SYS_madvise, [start, end - start, advice as u64, 0, 0, 0]).map(drop)
}

fn entry(payload: &Payload, number: u64) -> u64 {
    payload.entry + number * ENTRY_BYTES
}

/// Has `SIGTRAP` handled by the tracer, with all signals blocked meanwhile; what was asked for before is kept for the
/// program.
///
/// # Errors
/// The system's.
pub fn set_handler(rings: &Rings, payload: &Payload, tracee: Tracee) -> io::Result<()> {
    const RESTORER: u64 = 0x0400_0000;
    let [handler, restorer] = [entry::HANDLE, entry::RESTORE].map(|number| entry(payload, number));
    let flags = (libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART) as u64 | RESTORER;
    let action = rings.hand_over(&[handler, flags, restorer, u64::MAX]);
    let arguments = [libc::SIGTRAP as u64, action, action, size_of::<u64>() as u64, 0, 0];
    tracee.system_call(libc::SYS_rt_sigaction, arguments)?;
    rings.keep_action_but(handler);
    Ok(())
}
