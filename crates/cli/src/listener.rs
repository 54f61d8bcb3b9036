//! Whoever had a program traced from within it (`crates/control`), and waits for it.

use std::os::fd::{BorrowedFd, RawFd};
use std::sync::Once;

/// What is told when the profile is saved.
const SAVED: i32 = 0;

/// It listens at a descriptor.
pub struct Listener {
    descriptor: BorrowedFd<'static>,
    tracing: Once,
}

impl Listener {
    /// At a descriptor that we were started with.
    pub fn at(descriptor: RawFd) -> Listener {
        // SAFETY: not one that is opened here; it is never closed, and if there is none, writing fails.
        let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
        Listener { descriptor, tracing: Once::new() }
    }

    /// The program is traced now, by this process. Only the first time is told.
    pub fn tell_tracing(&self) {
        self.tracing.call_once(|| self.tell(std::process::id() as i32));
    }

    /// The profile is saved.
    pub fn tell_saved(&self) {
        self.tell(SAVED);
    }

    /// If it no longer listens there is nobody to tell.
    fn tell(&self, word: i32) {
        let _ = rustix::io::write(self.descriptor, &word.to_ne_bytes());
    }
}
