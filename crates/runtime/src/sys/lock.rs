//! A lock between the threads of a process.

use super::{call, filter, number};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
const HELD: u32 = 1;
const WAITED_FOR: u32 = 2;

const WAKE_PRIVATE: u64 = 129;

/// How long is waited before looking again.
const PATIENCE_NS: u64 = 10_000_000;

/// Mutual exclusion by a futex, around a value.
pub struct Lock<T> {
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only by the thread that holds the lock.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// A free lock.
    pub const fn new(value: T) -> Lock<T> {
        Lock { state: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Runs `body` with the value, alone.
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        self.acquire();
        // SAFETY: the lock is held, so no other reference exists.
        let result = body(unsafe { &mut *self.value.get() });
        self.release();
        result
    }

    /// Runs `body` with the value, alone, and keeps the lock for [`Lock::release`]: around a fork, whose
    /// child must find the value whole.
    pub fn with_and_keep<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        self.acquire();
        // SAFETY: as in `with`.
        body(unsafe { &mut *self.value.get() })
    }

    fn acquire(&self) {
        if self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return;
        }
        while self.state.swap(WAITED_FOR, Ordering::Acquire) != FREE {
            const WAIT_PRIVATE: u64 = 128;
            let word = self.state.as_ptr() as u64;
            // Once confined not for ever: a thread that gives the lock back may not be allowed to wake others by
            // then. Else without end: interrupted, a wait with an end takes the place of what the kernel noted of
            // a call of the program's that is to go on.
            let timeout = [0u64, PATIENCE_NS];
            let end = if filter::is_confined() { timeout.as_ptr() as u64 } else { 0 };
            let arguments = [word, WAIT_PRIVATE, u64::from(WAITED_FOR), end, 0, 0];
            // A wait that is interrupted goes on by another call, which the kernel makes without being asked.
            let may_wait = filter::allows(number::RESTART_SYSCALL, &[0; 6]);
            // SAFETY: waits while the word says so; changes nothing. An error means: look again.
            let _ = unsafe {
                if may_wait { call(number::FUTEX, arguments) } else { call(number::SCHED_YIELD, [0; 6]) }
            };
        }
    }

    /// Has all threads that wait look anew whether they may wait without end.
    pub fn wake_all(&self) {
        let arguments = [self.state.as_ptr() as u64, WAKE_PRIVATE, i32::MAX as u64, 0, 0, 0];
        // SAFETY: wakes waiters; changes nothing.
        let _ = unsafe { call(number::FUTEX, arguments) };
    }

    /// Gives the lock back after [`Lock::with_and_keep`].
    pub fn release(&self) {
        if self.state.swap(FREE, Ordering::Release) == WAITED_FOR {
            let word = self.state.as_ptr() as u64;
            // SAFETY: wakes a waiter; changes nothing.
            let _ = unsafe { call(number::FUTEX, [word, WAKE_PRIVATE, 1, 0, 0, 0]) };
        }
    }
}
