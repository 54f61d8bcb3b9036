//! A child that ends when we say so: a thread that waits for its tracees hears of that like of any of their ends, without
//! looking from time to time.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// What makes the child end, when it is dropped.
#[derive(Debug)]
pub struct Ender(#[expect(dead_code, reason = "it is closed")] OwnedFd);

/// What the child waits for.
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
pub fn pair() -> io::Result<(Ender, Awaited)> {
    let (end, ender) = io::pipe()?;
    let ender = OwnedFd::from(ender);
    let awaited = Awaited { end: end.into(), other: ender.as_raw_fd() };
    Ok((Ender(ender), awaited))
}

/// A child of the calling thread, which ends at the latest when this is dropped.
#[derive(Debug)]
pub struct Child(i32);

impl Child {
    /// Begins it, to wait until the other end is dropped.
    ///
    /// # Errors
    /// The system's.
    pub fn begin(awaited: &Awaited) -> io::Result<Child> {
        // SAFETY: the child makes system calls only, which is allowed after a fork of several threads; it never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let mut byte = 0_u8;
                // SAFETY: closes a copy of a descriptor that nobody uses here, waits with room for one byte, and ends the
                // process.
                unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    libc::close(awaited.other);
                    libc::read(awaited.end.as_raw_fd(), (&raw mut byte).cast(), 1);
                    libc::_exit(0)
                }
            }
            child => Ok(Child(child)),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracees::{self, Reason, Stop};

    #[test]
    fn its_end_is_one_that_a_tracer_hears_of() {
        let (ender, awaited) = pair().unwrap();
        let heard = crate::group::apart(|| {
            let child = Child::begin(&awaited).unwrap();
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
