//! Children that do a little work for us, without memory of their own.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A child of the calling thread, which ends at the latest when this is dropped, or that thread is gone. Signals do not reach
/// it.
#[derive(Debug)]
pub struct Child(i32);

impl Child {
    /// Begins it, to do something and end.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Safety
    /// What it does may compute and make system calls only: of memory and locks, other threads may have been in the middle.
    pub unsafe fn begin(work: impl FnOnce()) -> io::Result<Child> {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: both sets are live locals, the first of which is filled before it is read.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        }
        // SAFETY: the child does what the caller answers for, takes no memory beside that, and never returns.
        let forked = match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // SAFETY: takes no memory.
                unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
                work();
                // SAFETY: ends the process.
                unsafe { libc::_exit(0) }
            }
            child => Ok(Child(child)),
        };
        // SAFETY: the set was filled by the call above.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
        forked
    }

    /// Its number.
    pub fn pid(&self) -> i32 {
        self.0
    }

    /// Somebody took note of its end: the number may be another's by now.
    pub fn has_ended(self) {
        std::mem::forget(self);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: these pass no memory but an optional result that is not wanted; the process is our child.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), libc::__WALL);
        }
    }
}

/// What makes a child end that waits for it, when it is dropped.
#[derive(Debug)]
pub struct Ender(#[expect(dead_code, reason = "it is closed")] OwnedFd);

/// What a child waits for, so that a thread which waits for its tracees hears of it like of any of their ends, without looking
/// from time to time.
#[derive(Debug)]
pub struct Awaited {
    end: OwnedFd,
    /// The number of the other end.
    other: RawFd,
}

/// Both ends.
///
/// # Errors
/// The system's.
pub fn awaited() -> io::Result<(Ender, Awaited)> {
    let (end, ender) = io::pipe()?;
    let ender = OwnedFd::from(ender);
    let awaited = Awaited { end: end.into(), other: ender.as_raw_fd() };
    Ok((Ender(ender), awaited))
}

impl Awaited {
    /// Begins a child that waits until the other end is dropped.
    ///
    /// # Errors
    /// The system's.
    pub fn child(&self) -> io::Result<Child> {
        let wait = || {
            let mut byte = 0_u8;
            // SAFETY: closes a copy of a descriptor that nobody uses here, and waits with room for one byte.
            unsafe {
                libc::close(self.other);
                libc::read(self.end.as_raw_fd(), (&raw mut byte).cast(), 1);
            }
        };
        // SAFETY: these are system calls.
        unsafe { Child::begin(wait) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracees::{self, Reason, Stop};

    #[test]
    fn its_end_is_one_that_a_tracer_hears_of() {
        let (ender, awaited) = awaited().unwrap();
        let heard = crate::group::apart(|| {
            let child = awaited.child().unwrap();
            // SAFETY: takes no memory; it is our child.
            assert_eq!(unsafe { libc::kill(child.pid(), libc::SIGTERM) }, 0);
            assert!(tracees::next_by_now().unwrap().is_none(), "it waits");
            drop(ender);
            let Some(Stop { tid, reason: Reason::Ended { .. } }) = tracees::next().unwrap() else {
                panic!("no end")
            };
            let is_its = tid == child.pid();
            child.has_ended();
            is_its
        });
        assert!(heard);
    }
}
