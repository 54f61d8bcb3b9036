//! How long the runtime takes over new code, for a host that wants to know.

use crate::state::Process;
use core::arch::x86_64::_rdtsc;
use core::sync::atomic::Ordering;

/// Does something for code that a thread came to for the first time, and notes how long it takes if that is wanted.
/// Otherwise the time stamp counter is not read: a program may have made it out of bounds.
pub fn timed<R>(process: &mut Process, work: impl FnOnce(&mut Process) -> R) -> R {
    if process.shared.header().times_translation.load(Ordering::Relaxed) == 0 {
        return work(process);
    }
    // SAFETY: whoever asks for times sees to it that the program does not forbid this instruction.
    let now = || unsafe { _rdtsc() };
    let begun = now();
    let result = work(process);
    // Under the process lock: nobody else adds to it.
    let ticks = &process.record.translation_ticks;
    ticks.store(ticks.load(Ordering::Relaxed) + now().wrapping_sub(begun), Ordering::Relaxed);
    result
}
