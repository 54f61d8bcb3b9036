//! Where the program could take `SIGTRAP` from the tracer: the system call that sets handlers is watched by
//! breakpoints, so that the tracer keeps the program's handler for it instead.

use crate::inherited;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use timewise_abi::tracing::{GUARDS, signal_data};
use timewise_target::perf::{Event, Watched, sys};
use timewise_target::{maps, subject};

/// `mov eax, 13` and `syscall`: how C libraries make `rt_sigaction`, and Go's runtime too.
const CALL: [u8; 7] = [0xb8, 13, 0, 0, 0, 0x0f, 0x05];

/// Bytes of it before the system call itself.
const BEFORE: u64 = 5;

/// The addresses of the system call in what process `pid` has mapped now; at most as many as can be watched.
///
/// # Errors
/// The system's, if its memory cannot be read.
pub fn places(pid: i32) -> io::Result<Vec<u64>> {
    let memory = std::fs::File::open(format!("/proc/{pid}/mem"))?;
    let mut places = Vec::new();
    for mapped in maps::executable(pid)?.iter().filter(|mapped| mapped.inode != 0) {
        let mut code = vec![0; (mapped.end - mapped.start) as usize];
        // A file may be shorter than what is mapped of it.
        let read = memory.read_at(&mut code, mapped.start).unwrap_or_default();
        let found = code[..read].windows(CALL.len()).enumerate().filter(|(_, bytes)| *bytes == CALL);
        places.extend(found.map(|(at, _)| mapped.start + at as u64 + BEFORE));
    }
    places.truncate(GUARDS);
    Ok(places)
}

/// Whether process `pid` sets handlers at some of these places: not if they lie in code that a program without a loader
/// has mapped for others, as emulators do.
///
/// # Errors
/// The system's, if the process is gone or hidden.
pub fn are_its_own(pid: i32, places: &[u64]) -> io::Result<bool> {
    if subject::loader_base(pid)? != 0 {
        return Ok(!places.is_empty());
    }
    let program = std::fs::read_link(format!("/proc/{pid}/exe"))?;
    let mapped = maps::executable(pid)?;
    let mut own = mapped.iter().filter(|mapped| mapped.path == program.as_os_str().as_bytes());
    Ok(own.any(|own| places.iter().any(|place| (own.start..own.end).contains(place))))
}

/// Watches one of them, in the process's first thread and all that it will make.
///
/// # Errors
/// The kernel's.
pub fn open(pid: i32, place: u64) -> io::Result<Event> {
    let mut attributes = inherited::attributes(signal_data::GUARD);
    attributes.type_ = sys::PERF_TYPE_BREAKPOINT;
    attributes.__bindgen_anon_1.sample_period = 1;
    attributes.bp_type = sys::HW_BREAKPOINT_X;
    attributes.__bindgen_anon_3.bp_addr = place;
    attributes.__bindgen_anon_4.bp_len = size_of::<u64>() as u64;
    Event::open(&attributes, Watched::Thread(pid), None)
}
