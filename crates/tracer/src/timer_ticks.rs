//! Samples at the kernel's timer ticks: an event that is due when the kernel looks through its timers anyway needs no
//! interrupt of its own, which on a guest costs more than the signal.
//!
//! A sample's wait passes while its thread runs, so it ends at a tick only for one that runs throughout. One that sleeps
//! would come to the end of waits for ticks in step with them, if what wakes it is: its waits are at random.

use crate::events::monotonic_ns;
use timewise_abi::tracing::{TraceHeader, TraceSlot};

/// How much later than it was due a sample comes at most if its thread ran all the while, nanoseconds: on a guest an
/// interrupt and a signal take a tenth of a millisecond.
const AT_MOST_LATE_NS: u64 = 250_000;

/// A sample has come: whether its thread ran since the one before.
pub fn came(header: &TraceHeader, slot: &mut TraceSlot) {
    if header.timer_tick_ns > 0 {
        slot.ran_on = u32::from(monotonic_ns().wrapping_sub(slot.due_ns) <= AT_MOST_LATE_NS);
    }
}

/// How long to wait for the next sample if it is to be about `wait`, both in nanoseconds.
pub fn adjust(header: &TraceHeader, slot: &mut TraceSlot, wait: u64) -> u64 {
    if header.timer_tick_ns == 0 {
        return wait;
    }
    let now = monotonic_ns();
    let wait = if slot.ran_on == 1 { until_tick(header.timer_tick_ns, now, wait) } else { wait };
    (slot.due_ns, slot.ran_on) = (now + wait, 0);
    wait
}

/// How long it is from `now` to the tick that is nearest to the end of `wait`.
fn until_tick(tick: u64, now: u64, wait: u64) -> u64 {
    let nearest = (now + wait + tick / 2) / tick;
    let next = now / tick + 1;
    nearest.max(next) * tick - now
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::boxed::Box;

    #[test]
    fn the_next_tick_is_the_nearest_to_the_end_of_the_wait_but_not_a_former_one() {
        let ends = [
            (0, 4_000, 4_000),
            (100, 5_000, 4_000),
            (100, 6_000, 8_000),
            (3_900, 100, 4_000),
            (4_100, 10, 8_000),
        ];
        for (now, wait, tick) in ends {
            assert_eq!(now + until_tick(4_000, now, wait), tick, "{now} {wait}");
        }
    }

    #[test]
    fn only_who_ran_on_waits_for_a_tick() {
        const TICK: u64 = 4_000_000;
        // SAFETY: all zeros is a value of both.
        let (mut header, mut slot) = unsafe {
            (Box::<TraceHeader>::new_zeroed().assume_init(), Box::<TraceSlot>::new_zeroed().assume_init())
        };
        // It would end in the midst of two ticks.
        let wait = || (monotonic_ns() / TICK + 3) * TICK + TICK / 3 - monotonic_ns();
        let is_at_tick = |slot: &TraceSlot| slot.due_ns.is_multiple_of(TICK);
        let random = wait();
        assert_eq!(adjust(&header, &mut slot, random), random);
        header.timer_tick_ns = TICK;
        adjust(&header, &mut slot, wait());
        assert!(!is_at_tick(&slot), "the first");
        // As if it had just been due.
        slot.due_ns = monotonic_ns();
        came(&header, &mut slot);
        adjust(&header, &mut slot, wait());
        assert!(is_at_tick(&slot));
        slot.due_ns = monotonic_ns() - 2 * AT_MOST_LATE_NS;
        came(&header, &mut slot);
        adjust(&header, &mut slot, wait());
        assert!(!is_at_tick(&slot), "it slept");
    }
}
