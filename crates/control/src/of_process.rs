//! What belongs to one process, for one thread at a time: a process that was forked from it starts with none.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// How often a thread that waits looks whether it is its turn.
const GLANCE: Duration = Duration::from_millis(1);

/// A value of the calling process, or none.
pub struct OfProcess<T> {
    /// The process of which a thread has its turn, or 0. A fork copies it also while one has, which the forked process
    /// lacks: a mutex would stay locked there for ever.
    turn: AtomicI32,
    /// With the process that it belongs to.
    kept: UnsafeCell<Option<(i32, T)>>,
}

// SAFETY: `kept` is used by the thread alone whose turn it is.
unsafe impl<T: Send> Sync for OfProcess<T> {}

/// Ends the turn.
struct Turn<'a>(&'a AtomicI32);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

impl<T> OfProcess<T> {
    /// None.
    pub const fn new() -> OfProcess<T> {
        OfProcess { turn: AtomicI32::new(0), kept: UnsafeCell::new(None) }
    }

    /// Does `work` with the value, when no other thread does.
    pub fn with<R>(&self, work: impl FnOnce(&mut Option<T>) -> R) -> R {
        let own = std::process::id() as i32;
        let is_whole = self.take_turn(own);
        let _turn = Turn(&self.turn);
        if !is_whole {
            // SAFETY: it is our turn, and what was half written is written over without being looked at.
            unsafe { self.kept.get().write(None) };
        }
        // SAFETY: it is our turn until this function returns, and the value is whole.
        let kept = unsafe { &mut *self.kept.get() };
        let mut value = kept.take().filter(|(process, _)| *process == own).map(|(_, value)| value);
        let result = work(&mut value);
        *kept = value.map(|value| (own, value));
        result
    }

    /// Waits for the turn of a thread of process `own`: whether nobody was interrupted in theirs by the fork that made
    /// the process.
    fn take_turn(&self, own: i32) -> bool {
        let take = |from| self.turn.compare_exchange(from, own, Ordering::Acquire, Ordering::Relaxed);
        loop {
            match take(0) {
                Ok(_) => return true,
                Err(other) if other != own && take(other).is_ok() => return false,
                Err(_) => std::thread::sleep(GLANCE),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_kept_for_its_process_alone() {
        let one = OfProcess::new();
        one.with(|value| *value = Some(7));
        assert_eq!(one.with(|value| *value), Some(7));
        let mut of_parent = OfProcess { turn: AtomicI32::new(0), kept: UnsafeCell::new(Some((1, 7))) };
        assert_eq!(of_parent.with(|value| *value), None);
        *of_parent.kept.get_mut() = Some((std::process::id() as i32, 7));
        *of_parent.turn.get_mut() = 1;
        assert_eq!(of_parent.with(|value| *value), None, "forked while the parent had its turn");
        assert_eq!(*of_parent.turn.get_mut(), 0);
    }
}
