//! Work that must not end in the middle is done by a process of its own: whoever kills the one that he started
//! (`SIGKILL`, which nobody can refuse) does not kill that, and it ends the work as if it had been interrupted.

use crate::run::exit_of;
use crate::seize::process_of;
use crate::status::Status;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicI32, Ordering};
use timewise_profile::Exit;

/// The process that was started, in its keeper.
static STARTED: AtomicI32 = AtomicI32::new(0);

/// The keeper's name, by which nobody looks for us who is about to kill all of us.
const NAME: &std::ffi::CStr = c"tw-keeper";

/// What the keeper is asked by when the process that was started dies.
const ORPHANED: libc::c_int = libc::SIGTERM;

/// Which of the two processes goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that was started; this is its keeper's process id.
    Started(i32),
    /// The keeper, which does the work: out of reach of what a terminal or a shell sends to all that it started. It
    /// gets a `SIGTERM` when the other one dies.
    Keeper,
}

/// Goes on in two processes.
///
/// # Errors
/// The system's, if it allows no further process.
///
/// # Safety
/// This process has one thread.
pub unsafe fn split() -> io::Result<Side> {
    let started = std::process::id() as i32;
    // SAFETY: one thread, which is copied: no lock is held by another that would be missing.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            keep(started);
            Ok(Side::Keeper)
        }
        keeper => Ok(Side::Started(keeper)),
    }
}

fn keep(started: i32) {
    STARTED.store(started, Ordering::Relaxed);
    // SAFETY: `NAME` is a string with its end; the others take no memory.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
        libc::prctl(libc::PR_SET_PDEATHSIG, ORPHANED);
        if libc::getppid() != started {
            // It died before it could be told.
            libc::raise(ORPHANED);
        }
    }
}

/// Waits for the keeper's end: how it ended.
///
/// # Errors
/// The system's, if somebody else has waited for it.
pub fn wait(keeper: i32) -> io::Result<Exit> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a live local.
        if unsafe { libc::waitpid(keeper, &mut status, 0) } == keeper {
            return Ok(exit_of(status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Whether a process, by its id or that of one of its threads, is the keeper of another timewise, which was killed: it is
/// about to end its work.
pub fn is_orphan(id: i32) -> bool {
    let Some(pid) = process_of(id).ok().filter(|&pid| !is_ours(pid)) else { return false };
    let program =
        |pid: i32| std::fs::metadata(format!("/proc/{pid}/exe")).map(|file| (file.dev(), file.ino()));
    // It executes what the process does that was started, and belongs to another one when that is dead.
    Status::of_process(pid).is_some_and(|status| {
        status.name.as_bytes() == NAME.to_bytes()
            && program(pid).is_ok_and(|own| program(status.parent).map_or(true, |parent| parent != own))
    })
}

/// Whether process `pid` is timewise itself: this process, or the one that it keeps.
pub fn is_ours(pid: i32) -> bool {
    [std::process::id() as i32, STARTED.load(Ordering::Relaxed)].contains(&pid)
}
