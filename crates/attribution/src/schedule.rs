//! Which cycles are sampled.

use timewise_trace::Record;

/// Sampled cycles: one in each interval of a number of cycles, which it stands for.
///
/// Intervals begin at multiples of the period. Two schedules that are made alike sample the same cycles.
#[derive(Debug, Clone)]
pub struct Schedule {
    period: u64,
    /// The next cycle to be sampled.
    next: u64,
    /// Where in its interval a cycle is sampled: always in the last cycle, or anywhere.
    random: Option<SplitMix>,
}

impl Schedule {
    /// Every cycle.
    pub fn every_cycle() -> Self {
        Self::periodic(1)
    }

    /// The last cycle of every `period` cycles, which is at least 1.
    pub fn periodic(period: u64) -> Self {
        let period = period.max(1);
        Self { period, next: period - 1, random: None }
    }

    /// A random cycle of every `period` cycles, which is at least 1 (paper A, section 5.2).
    pub fn random(period: u64, seed: u64) -> Self {
        let mut schedule = Self { random: Some(SplitMix(seed)), ..Self::periodic(period) };
        schedule.next = schedule.within(0);
        schedule
    }

    /// How many cycles a sample stands for.
    pub fn period(&self) -> u64 {
        self.period
    }

    /// How many of a record's cycles are sampled. Records must come in the order of their cycles.
    #[inline]
    pub fn samples(&mut self, record: &Record) -> u64 {
        if self.next >= record.end() { 0 } else { self.take(record) }
    }

    fn take(&mut self, record: &Record) -> u64 {
        if self.random.is_none() {
            // Cycles that were not traced are passed over.
            let first = self.next.max((record.cycle + 1).next_multiple_of(self.period) - 1);
            let samples = if first < record.end() { (record.end() - 1 - first) / self.period + 1 } else { 0 };
            self.next = first + samples * self.period;
            return samples;
        }
        if self.next < record.cycle {
            self.next = self.within(record.cycle / self.period);
        }
        let mut samples = 0;
        while self.next < record.end() {
            samples += u64::from(self.next >= record.cycle);
            self.next = self.within(self.next / self.period + 1);
        }
        samples
    }

    /// The sampled cycle of an interval.
    fn within(&mut self, interval: u64) -> u64 {
        let offset = self.random.as_mut().map_or(self.period - 1, |random| random.below(self.period));
        interval * self.period + offset
    }
}

/// The generator of Steele, Lea and Flood (SplitMix64): all that is asked of it is that samples do not
/// follow the program's rhythm.
#[derive(Debug, Clone)]
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use timewise_trace::Record;

    use super::Schedule;

    /// How many samples records of such lengths have, of which the first begins at `cycle`.
    fn samples(mut schedule: Schedule, mut cycle: u64, lengths: &[u32]) -> Vec<u64> {
        let sample = |&repeat: &u32| {
            let record = Record { cycle, repeat, ..Record::default() };
            cycle = record.end();
            schedule.samples(&record)
        };
        lengths.iter().map(sample).collect()
    }

    #[test]
    fn every_cycle_is_every_cycle() {
        assert_eq!(samples(Schedule::every_cycle(), 0, &[1, 5, 1]), [1, 5, 1]);
        assert_eq!(samples(Schedule::every_cycle(), 77, &[1, 5, 1]), [1, 5, 1]);
    }

    #[test]
    fn periods_end_with_a_sample() {
        assert_eq!(samples(Schedule::periodic(10), 0, &[9, 1, 9, 1, 25, 4, 1]), [0, 1, 0, 1, 2, 0, 1]);
        assert_eq!(samples(Schedule::periodic(10), 1009, &[1, 9, 1]), [1, 0, 1]);
        assert_eq!(samples(Schedule::periodic(10), 1010, &[9, 1]), [0, 1]);
    }

    #[test]
    fn random_samples_are_one_an_interval() {
        let mut schedule = Schedule::random(16, 3);
        let taken: Vec<u64> = (0..1600)
            .filter(|&cycle| schedule.samples(&Record { cycle, repeat: 1, ..Record::default() }) == 1)
            .collect();
        assert!(taken.iter().map(|cycle| cycle / 16).eq(0..100), "one in each interval");
        let places = taken.iter().map(|cycle| cycle % 16).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(places.len(), 16, "anywhere in it");
        assert_eq!(samples(Schedule::random(16, 3), 0, &[800, 800]), [50, 50], "whole records have the same");
    }

    #[test]
    fn a_trace_that_begins_late_has_its_first_interval_in_part() {
        let [first, rest] = samples(Schedule::random(16, 3), 1608, &[8, 160])[..] else { unreachable!() };
        assert!(first <= 1 && rest == 10);
    }
}
