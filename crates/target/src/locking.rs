//! What a process asked to be locked of the memory that it maps from now on (`mlockall` with `MCL_FUTURE`).
//!
//! The kernel fills such memory at once. Of what is put into a program most is only reserved, and filling it would take
//! all that the machine has, so it is mapped while the kernel locks pages as they come into use (`MCL_ONFAULT`).

use crate::status::field;
use crate::trace::Tracee;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

const PAGE: u64 = 4096;

/// What of the memory that it maps from now on a process that stands has locked: [`libc::MCL_FUTURE`], with
/// [`libc::MCL_ONFAULT`] if that is not filled, or nothing. Found out by mapping a page and looking at it.
///
/// # Errors
/// The system's.
pub fn future(tracee: Tracee) -> io::Result<i32> {
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
    let before = locked(tracee)?;
    let page = tracee
        .system_call(
            libc::SYS_mmap,
            [0, PAGE, libc::PROT_READ as u64 | libc::PROT_WRITE as u64, flags, u64::MAX, 0],
        )
        .map_err(told)?;
    let found = locked(tracee).and_then(|after| match after == before {
        true => Ok(0),
        false if is_there(tracee, page)? => Ok(libc::MCL_FUTURE),
        false => Ok(libc::MCL_FUTURE | libc::MCL_ONFAULT),
    });
    tracee.system_call(libc::SYS_munmap, [page, PAGE, 0, 0, 0, 0])?;
    found
}

/// Has pages that the process maps from now on locked only as they come into use, if it has them filled.
///
/// # Errors
/// The system's.
pub fn fill_nothing(tracee: Tracee, future: i32) -> io::Result<()> {
    if future != libc::MCL_FUTURE {
        return Ok(());
    }
    lock_all(tracee, libc::MCL_FUTURE | libc::MCL_ONFAULT)
}

/// Has them filled again, if the process had.
///
/// # Errors
/// The system's.
pub fn fill_again(tracee: Tracee, future: i32) -> io::Result<()> {
    if future != libc::MCL_FUTURE {
        return Ok(());
    }
    lock_all(tracee, libc::MCL_FUTURE)
}

/// Takes what was mapped out of what is locked, and thus of what the process may lock at most.
///
/// # Errors
/// The system's.
pub fn unlock(tracee: Tracee, range: Range<u64>) -> io::Result<()> {
    tracee.system_call(libc::SYS_munlock, [range.start, range.end - range.start, 0, 0, 0, 0]).map(drop)
}

/// The error that mapping ended in, in words if it is that no more may be locked.
pub fn told(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => io::Error::other(
            "it locks all memory that it maps (mlockall), and may lock no more: allow it with prlimit --memlock=unlimited",
        ),
        _ => error,
    }
}

fn lock_all(tracee: Tracee, flags: i32) -> io::Result<()> {
    tracee.system_call(libc::SYS_mlockall, [flags as u64, 0, 0, 0, 0, 0]).map(drop)
}

/// How much of its memory is locked, as the kernel writes it.
fn locked(tracee: Tracee) -> io::Result<String> {
    // The name in it may be of any bytes.
    let status = std::fs::read(format!("/proc/{}/status", tracee.tid()))?;
    Ok(field(&String::from_utf8_lossy(&status), "VmLck").to_string())
}

/// Whether a page has memory.
fn is_there(tracee: Tracee, page: u64) -> io::Result<bool> {
    const PRESENT: u64 = 1 << 63;
    let mut entry = [0; size_of::<u64>()];
    let pages = std::fs::File::open(format!("/proc/{}/pagemap", tracee.tid()))?;
    pages.read_exact_at(&mut entry, page / PAGE * size_of::<u64>() as u64)?;
    Ok(u64::from_le_bytes(entry) & PRESENT != 0)
}
