//! Putting the tracer into a program that is stopped, and taking it out again.

use crate::record::TraceError;
use crate::rings::{BASE, Rings};
use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;
use timewise_abi::RESERVED_HIGH;
use timewise_abi::tracing::{BENCH_BYTES, BENCHES, ENTRY_BYTES, SLOTS, entry};
use timewise_injection::Payload;
use timewise_target::trace::Tracee;

/// Maps the tracer, sets the handler, and makes a thread of the program ready.
///
/// # Errors
/// What the system refused. The program can still be released to run natively.
pub fn inject(rings: &Rings, payload: &Payload, tracee: Tracee) -> Result<(), TraceError> {
    let system = |what| move |cause| TraceError::System { what, cause };
    timewise_injection::map(tracee, rings.file(), BASE, payload, rings.image_offset())
        .map_err(system("map the tracer into the program"))?;
    map_benches(tracee).map_err(system("map memory into the program"))?;
    set_handler(rings, payload, tracee).map_err(system("set a signal handler in the program"))?;
    tracee
        .run_to_trap(entry(payload, entry::PREPARE), [BASE, 0], rings.first_stack())
        .map_err(system("make the program's first thread ready"))?;
    match rings.header().refusal.load(Ordering::Relaxed) {
        0 => Ok(()),
        error => Err(TraceError::Events(io::Error::from_raw_os_error(error as i32))),
    }
}

/// Unmaps all of it. No thread may be in it.
///
/// # Errors
/// The system's.
pub fn take_out(rings: &Rings, tracee: Tracee) -> io::Result<()> {
    let action = rings.hand_over(&rings.kept_action());
    let arguments = [libc::SIGTRAP as u64, action, 0, size_of::<u64>() as u64, 0, 0];
    tracee.system_call(libc::SYS_rt_sigaction, arguments)?;
    // With what the tracer itself mapped there.
    let Range { start, end } = RESERVED_HIGH;
    tracee.system_call(libc::SYS_munmap, [start, end - start, 0, 0, 0, 0]).map(drop)
}

/// Maps where single instructions are executed: memory that is used only as far as threads need it.
fn map_benches(tracee: Tracee) -> io::Result<()> {
    let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let size = SLOTS as u64 * BENCH_BYTES;
    let arguments = [BENCHES, size, protection as u64, flags as u64, u64::MAX, 0];
    let got = tracee.system_call(libc::SYS_mmap, arguments)?;
    if got == BENCHES { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EEXIST)) }
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
