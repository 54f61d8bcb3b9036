//! Samples at the kernel's timer ticks: an event that is due when the kernel looks through its timers anyway mostly needs
//! no interrupt of its own, which on a guest costs more than the signal.
//!
//! A sample's wait passes while its thread runs, so it ends at a tick only for one that runs throughout. One that sleeps
//! and is woken in step with ticks would be seen in step with them: so waits stay random until many in a row have been run
//! through. That does not find who sleeps for moments, or seldom.

use core::sync::atomic::Ordering;
use timewise_abi::tracing::{TraceHeader, TraceSlot};
use timewise_runtime::sys::call;

/// How much later than it is due a sample comes at most if its thread ran all the while, nanoseconds: on a guest an
/// interrupt and a signal take a tenth of a millisecond.
const AT_MOST_LATE_NS: u64 = 250_000;

/// Samples in a row that came when they were due before waits end at ticks.
const IN_A_ROW: u32 = 16;

/// A sample has come.
pub fn came(header: &TraceHeader, slot: &mut TraceSlot) {
    if header.timer_tick_ns > 0 {
        note(slot, monotonic_ns());
    }
}

/// Notes whether a sample that came at `now` was due.
fn note(slot: &mut TraceSlot, now: u64) {
    let late = now.checked_sub(slot.due_ns).filter(|_| slot.wait_ns > 0).unwrap_or(u64::MAX);
    if late <= AT_MOST_LATE_NS && slot.on_time >= IN_A_ROW {
        // This thread alone writes there.
        slot.at_ticks.store(slot.at_ticks.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
    // One that is due while the thread is in the kernel is left out, and comes after the same wait once more.
    let was_due = late < u64::MAX && late % slot.wait_ns <= AT_MOST_LATE_NS;
    slot.on_time = if was_due { slot.on_time.saturating_add(1) } else { 0 };
}

/// How long to wait for the next sample if it is to be about `wait`, both in nanoseconds.
pub fn adjust(header: &TraceHeader, slot: &mut TraceSlot, wait: u64) -> u64 {
    match header.timer_tick_ns {
        0 => wait,
        tick => adjust_at(tick, slot, wait, monotonic_ns()),
    }
}

/// The same at `now`.
fn adjust_at(tick: u64, slot: &mut TraceSlot, wait: u64, now: u64) -> u64 {
    let wait = if slot.on_time < IN_A_ROW { wait } else { until_tick(tick, now, wait) };
    (slot.due_ns, slot.wait_ns) = (now + wait, wait);
    wait
}

/// How long it is from `now` to the tick that is nearest to the end of `wait`, and not about to come.
fn until_tick(tick: u64, now: u64, wait: u64) -> u64 {
    let nearest = (now + wait + tick / 2) / tick;
    let next = (now + tick / 4) / tick + 1;
    nearest.max(next) * tick - now
}

/// The time of the clock by which the kernel's timers go, nanoseconds; 0 if it does not say.
fn monotonic_ns() -> u64 {
    const CLOCK_GETTIME: u64 = 228;
    const MONOTONIC: u64 = 1;
    let mut time = [0_u64; 2];
    // SAFETY: fills the two numbers.
    let told = unsafe { call(CLOCK_GETTIME, [MONOTONIC, &raw mut time as u64, 0, 0, 0, 0]) };
    told.map_or(0, |_| time[0] * 1_000_000_000 + time[1])
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::boxed::Box;

    #[test]
    fn the_next_tick_is_the_nearest_to_the_end_of_the_wait_but_not_one_about_to_come() {
        const TICK: u64 = 3_333_333;
        let ends = [
            (0, TICK, 1),
            (100, TICK * 5 / 4, 1),
            (100, TICK * 7 / 4, 2),
            (TICK - 100, 100, 2),
            (TICK + 9, 10, 2),
        ];
        for (now, wait, ticks) in ends {
            assert_eq!(now + until_tick(TICK, now, wait), ticks * TICK, "{now} {wait}");
        }
    }

    #[test]
    fn only_who_runs_on_and_on_waits_for_ticks() {
        const TICK: u64 = 4_000_000;
        const WAIT: u64 = 9_000_000;
        for late in [0, AT_MOST_LATE_NS] {
            // SAFETY: all zeros is a value of it.
            let mut slot = unsafe { Box::<TraceSlot>::new_zeroed().assume_init() };
            slot.due_ns = 70 * TICK + 1;
            // So many more waits later, for samples that were left out.
            let mut waits_for_tick = |waits, late| {
                let now = slot.due_ns + waits * slot.wait_ns + late;
                note(&mut slot, now);
                adjust_at(TICK, &mut slot, WAIT, now);
                slot.due_ns.is_multiple_of(TICK)
            };
            // Before the first there was no wait.
            assert!((0..=IN_A_ROW).all(|number| waits_for_tick(0, late) == (number == IN_A_ROW)));
            assert!(waits_for_tick(0, late) && waits_for_tick(1, late));
            assert!(!waits_for_tick(0, AT_MOST_LATE_NS + 1), "it slept");
            assert_eq!(slot.at_ticks.load(Ordering::Relaxed), 1);
        }
    }
}
