//! From ticks of the processor, which the tracer notes without a system call, to the clock of the kernel's events.

use std::arch::x86_64::_rdtsc;
use timewise_target::cpu_time::monotonic_ns;

/// Attempts to read both clocks at once: whoever is interrupted in between tries again.
const ATTEMPTS: usize = 8;

/// Readings that are kept as they were made; as many again are of all that came before, ever fewer the older they are.
const KEPT: usize = 4096;

/// Both clocks, read together from time to time.
#[derive(Debug, Default)]
pub struct Clock {
    /// Ticks, and nanoseconds of the monotonic clock.
    pairs: Vec<(u64, u64)>,
}

impl Clock {
    /// Reads both.
    pub fn read(&mut self) {
        let attempt = || {
            let before = ticks();
            let time = monotonic_ns();
            let after = ticks();
            (after.wrapping_sub(before), before, time)
        };
        let best = (0..ATTEMPTS).map(|_| attempt()).min();
        self.pairs.extend(best.map(|(took, before, time)| (before + took / 2, time)));
        self.thin_out();
    }

    /// A thread may have waited for long since it was traced, but what is read every few milliseconds for days is more
    /// than it takes to tell when that was.
    fn thin_out(&mut self) {
        if self.pairs.len() >= 2 * KEPT {
            let latest = self.pairs.split_off(KEPT);
            self.pairs = self.pairs.iter().step_by(2).copied().chain(latest).collect();
        }
    }

    /// The time at so many ticks, which lie between two that were read.
    pub fn time_ns(&self, ticks: u64) -> u64 {
        let later = self.pairs.partition_point(|&(known, _)| known <= ticks);
        let later = later.clamp(1, self.pairs.len().max(2) - 1);
        let around = [later - 1, later].map(|at| self.pairs.get(at));
        let [Some(&(from, from_ns)), Some(&(to, to_ns))] = around else {
            return self.pairs.first().map_or(0, |&(_, time)| time);
        };
        let share = (ticks as f64 - from as f64) / (to.saturating_sub(from).max(1)) as f64;
        from_ns.saturating_add_signed((share * to_ns.saturating_sub(from_ns) as f64) as i64)
    }
}

fn ticks() -> u64 {
    // SAFETY: reads a counter of the processor.
    unsafe { _rdtsc() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_lie_between_those_that_were_read() {
        let clock = Clock { pairs: vec![(1000, 500), (2000, 1000), (4000, 3000)] };
        assert_eq!(
            [1000, 1500, 2000, 3000, 4000].map(|ticks| clock.time_ns(ticks)),
            [500, 750, 1000, 2000, 3000]
        );
        assert_eq!([800, 5000].map(|ticks| clock.time_ns(ticks)), [400, 4000]);
        assert_eq!(Clock { pairs: vec![(1000, 500)] }.time_ns(7), 500);
        assert_eq!(Clock::default().time_ns(7), 0);
    }

    #[test]
    fn readings_of_days_take_little_room_and_tell_of_all_of_them() {
        let mut clock = Clock::default();
        const READINGS: u64 = 1_000_000;
        for number in 0..READINGS {
            clock.pairs.push((3000 * number, 1000 * number));
            clock.thin_out();
            assert!(clock.pairs.len() < 2 * KEPT);
        }
        let latest = READINGS - KEPT as u64;
        assert!((latest..READINGS).all(|number| clock.pairs.contains(&(3000 * number, 1000 * number))));
        for number in (0..READINGS).step_by(9973) {
            assert_eq!(clock.time_ns(3000 * number + 300), 1000 * number + 100);
        }
    }

    /// Both clocks run on between readings, and a moment between two of them is found between their times.
    #[test]
    fn a_moment_is_found_between_the_readings_before_and_after() {
        let mut clock = Clock::default();
        clock.read();
        let at = std::iter::repeat_with(ticks).find(|&at| at > clock.pairs[0].0).unwrap_or_default();
        while clock.pairs.len() < 2 || clock.pairs[1].0 <= at {
            clock.pairs.truncate(1);
            clock.read();
        }
        let [(_, before), (_, after)] = clock.pairs[..] else { panic!("{:?}", clock.pairs) };
        assert!((before..=after).contains(&clock.time_ns(at)), "{:?} {at}", clock.pairs);
    }
}
