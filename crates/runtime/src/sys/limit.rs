//! The kernel's limit on the address space of this process.

use super::{Errno, call, call_for_program, number};
use core::sync::atomic::{AtomicBool, Ordering};

/// The number of the limit among all limits.
pub const ADDRESS_SPACE: u64 = 9;

/// What the runtime takes beside the shared file, its regions, and what its heap puts in reserve: its image, its tables,
/// what is in use of its heap.
pub const BESIDES: u64 = 64 << 20;

/// Whether there is a soft limit: then what the runtime takes is added to it.
static LIMITED: AtomicBool = AtomicBool::new(false);

/// Says whether there is a soft limit.
pub fn set_limited(limited: bool) {
    LIMITED.store(limited, Ordering::Relaxed);
}

/// The soft and the hard limit, if there is a soft one to care about.
pub fn get() -> Option<[u64; 2]> {
    if !LIMITED.load(Ordering::Relaxed) {
        return None;
    }
    let mut limits = [0u64; 2];
    let arguments = [0, ADDRESS_SPACE, 0, limits.as_mut_ptr() as u64, 0, 0];
    // SAFETY: writes the two words.
    unsafe { call(number::PRLIMIT64, arguments) }.ok().map(|_| limits)
}

/// Sets both.
///
/// # Errors
/// The kernel's: `EPERM`.
pub fn set(limits: [u64; 2]) -> Result<(), Errno> {
    let arguments = [0, ADDRESS_SPACE, limits.as_ptr() as u64, 0, 0, 0];
    // SAFETY: reads two words. A limit changes no memory.
    unsafe { call_for_program(number::PRLIMIT64, arguments) }.map(drop)
}

/// Moves the soft limit up by what the runtime is about to take, so that the program keeps its room.
pub fn make_room(size: u64) {
    if let Some([soft, hard]) = get() {
        // A failure shows when the memory is asked for.
        let _ = set([soft.saturating_add(size).min(hard), hard]);
    }
}
