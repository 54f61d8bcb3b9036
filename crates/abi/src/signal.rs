//! What the program asked to be done about signals. The kernel knows the runtime's own handler instead,
//! so this is the only place where it stands.

use core::sync::atomic::{AtomicU64, Ordering};

/// Number of signals; they are numbered from 1.
pub const SIGNALS: usize = 64;

/// What is to be done about one signal, as `rt_sigaction` has it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// Address of the handler, 0 for the default, 1 for nothing.
    pub handler: u64,
    /// `SA_` flags.
    pub flags: u64,
    /// Address that the handler returns to.
    pub restorer: u64,
    /// Signals blocked while the handler runs.
    pub mask: u64,
}

/// What is to be done about each signal: of a process, or of threads that share such a table. Runtime,
/// under its lock.
#[repr(C)]
#[derive(Debug)]
pub struct Actions([[AtomicU64; 4]; SIGNALS]);

impl Actions {
    /// What is to be done about `signal`, from 1 on; the default for a number that is no signal's.
    pub fn get(&self, signal: usize) -> Action {
        let Some(action) = signal.checked_sub(1).and_then(|at| self.0.get(at)) else {
            return Action::default();
        };
        let [handler, flags, restorer, mask] = action.each_ref().map(|word| word.load(Ordering::Relaxed));
        Action { handler, flags, restorer, mask }
    }

    /// Changes it.
    pub fn set(&self, signal: usize, action: Action) {
        let Some(place) = signal.checked_sub(1).and_then(|at| self.0.get(at)) else { return };
        let words = [action.handler, action.flags, action.restorer, action.mask];
        for (place, word) in place.iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
    }

    /// Makes this table equal to another.
    pub fn copy_from(&self, other: &Actions) {
        for signal in 1..=SIGNALS {
            self.set(signal, other.get(signal));
        }
    }
}

/// A stack for handlers, as `sigaltstack` has it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// Its lowest address.
    pub address: u64,
    /// `SS_` flags.
    pub flags: u32,
    /// Keeps the layout free of implicit padding.
    pub reserved: u32,
    /// Bytes; 0 for no such stack.
    pub size: u64,
}
