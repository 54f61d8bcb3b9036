//! The calling thread's signal mask.

use super::{call, number};

const SET_MASK: u64 = 2;

/// Blocks every signal that can be blocked: the mask before.
pub fn block_all() -> u64 {
    change(u64::MAX)
}

/// Sets the mask of blocked signals.
pub fn set_mask(mask: u64) {
    change(mask);
}

/// The mask of blocked signals, if the kernel may be asked.
pub fn mask() -> Option<u64> {
    let mut mask = 0u64;
    // SAFETY: writes to the local only.
    unsafe { call(number::RT_SIGPROCMASK, [0, 0, (&raw mut mask) as u64, 8, 0, 0]) }.ok()?;
    Some(mask)
}

fn change(mask: u64) -> u64 {
    let mut before = 0u64;
    let arguments = [SET_MASK, (&raw const mask) as u64, (&raw mut before) as u64, 8, 0, 0];
    // SAFETY: the pointers are to locals; whoever changes the mask restores it.
    let _ = unsafe { call(number::RT_SIGPROCMASK, arguments) };
    before
}
