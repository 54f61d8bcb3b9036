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

/// What of the memory that it maps from now on a process has locked: flags of `mlockall`, [`libc::MCL_FUTURE`], with
/// [`libc::MCL_ONFAULT`] if that is not filled, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locks(pub i32);

impl Locks {
    /// Finds out what a process that stands has locked, by mapping a page and looking at it; what it maps from then on is
    /// not filled, until [`Locks::put_back`].
    ///
    /// # Errors
    /// The system's.
    pub fn lift(tracee: Tracee) -> io::Result<Locks> {
        let locks = Locks::of(tracee)?;
        if locks.are_filled() {
            lock_all(tracee, libc::MCL_FUTURE | libc::MCL_ONFAULT)?;
        }
        Ok(locks)
    }

    /// Has the kernel do as before.
    ///
    /// # Errors
    /// The system's.
    pub fn put_back(self, tracee: Tracee) -> io::Result<()> {
        if self.are_filled() { lock_all(tracee, libc::MCL_FUTURE) } else { Ok(()) }
    }

    /// Takes what was mapped since out of what counts as locked: else the process could lock less of its own.
    ///
    /// # Errors
    /// The system's.
    pub fn leave_out(self, tracee: Tracee, range: Range<u64>) -> io::Result<()> {
        if self == Locks::default() {
            return Ok(());
        }
        let Range { start, end } = range;
        tracee.system_call(libc::SYS_munlock, [start, end - start, 0, 0, 0, 0]).map(drop)
    }

    fn are_filled(self) -> bool {
        self.0 == libc::MCL_FUTURE
    }

    fn of(tracee: Tracee) -> io::Result<Locks> {
        let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
        let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
        let before = locked(tracee)?;
        let mapped = tracee.system_call(libc::SYS_mmap, [0, PAGE, protection, flags, u64::MAX, 0]);
        let page = mapped.map_err(told)?;
        let found = locked(tracee).and_then(|after| match after == before {
            true => Ok(0),
            false if is_there(tracee, page)? => Ok(libc::MCL_FUTURE),
            false => Ok(libc::MCL_FUTURE | libc::MCL_ONFAULT),
        });
        tracee.system_call(libc::SYS_munmap, [page, PAGE, 0, 0, 0, 0])?;
        found.map(Locks)
    }
}

/// The error that mapping ended in, in words if it is that no more may be locked.
pub fn told(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => io::Error::other(
            "it locks all memory that it maps (mlockall), and may lock no more: allow it with \
             prlimit --memlock=unlimited --pid PID",
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
