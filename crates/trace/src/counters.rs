//! A worker that counts what the commit stage does.

use std::ops::AddAssign;

use crate::committed::Committed;
use crate::record::WIDTH;
use crate::{Flags, Psv, Record, Worker};

/// What happened in a number of cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Cycles.
    pub cycles: u64,
    /// Instructions that committed.
    pub instructions: u64,
    /// Cycles in which so many entries committed: the first are those in which none did.
    pub widths: [u64; WIDTH + 1],
    /// Cycles in which the ROB was empty.
    pub empty: u64,
    /// Exceptions that were raised.
    pub exceptions: u64,
    /// Instructions that flushed the pipeline as they committed.
    pub flushes: u64,
    /// Branches that were mispredicted.
    pub mispredictions: u64,
    /// Instructions that committed and were subject to each event, in the order of [`Psv`]'s bits.
    pub events: [u64; 9],
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.cycles += other.cycles;
        self.instructions += other.instructions;
        self.empty += other.empty;
        self.exceptions += other.exceptions;
        self.flushes += other.flushes;
        self.mispredictions += other.mispredictions;
        for (sum, more) in self.widths.iter_mut().zip(other.widths) {
            *sum += more;
        }
        for (sum, more) in self.events.iter_mut().zip(other.events) {
            *sum += more;
        }
    }
}

/// Counts of a whole trace, interval by interval.
#[derive(Debug, Clone)]
pub struct Counters {
    interval: u64,
    /// The first cycle that is not in the present interval.
    until: u64,
    committed: Committed,
    present: Counts,
    past: Vec<Counts>,
}

impl Counters {
    /// Counts by intervals of so many cycles, at least 1, from cycle 0 on. An interval without a record
    /// has none.
    pub fn every(cycles: u64) -> Self {
        let interval = cycles.max(1);
        Self {
            interval,
            until: interval,
            committed: Committed::default(),
            present: Counts::default(),
            past: Vec::new(),
        }
    }

    /// The intervals that were counted; the last is as long as the trace was.
    pub fn intervals(&self) -> impl Iterator<Item = &Counts> {
        self.past.iter().chain((self.present.cycles > 0).then_some(&self.present))
    }

    /// The whole trace.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.intervals().for_each(|counts| total += *counts);
        total
    }

    /// Counts cycles in which nothing changes, which may reach over several intervals.
    fn pass(&mut self, mut cycle: u64, end: u64, is_empty: bool) {
        while cycle < end {
            if cycle >= self.until {
                self.until = (cycle / self.interval + 1).saturating_mul(self.interval);
                if self.present.cycles > 0 {
                    self.past.push(std::mem::take(&mut self.present));
                }
            }
            let part = end.min(self.until) - cycle;
            self.present.cycles += part;
            self.present.empty += if is_empty { part } else { 0 };
            cycle += part;
        }
    }

    fn count(&mut self, record: &Record) {
        self.pass(record.cycle, record.end(), record.is_empty());
        let counts = &mut self.present;
        for entry in self.committed.of(record) {
            counts.instructions += 1;
            counts.flushes += u64::from(entry.flags.contains(Flags::FLUSH));
            counts.mispredictions += u64::from(entry.flags.contains(Flags::MISPREDICTED));
            if !entry.events.is_base() {
                for (count, event) in counts.events.iter_mut().zip(Psv::ALL.events()) {
                    *count += u64::from(entry.events.contains(event));
                }
            }
        }
        counts.exceptions += u64::from(record.exception().is_some());
        counts.widths[record.commits().len()] += u64::from(record.repeat);
    }
}

impl Worker<Record> for Counters {
    fn take(&mut self, part: &[Record]) {
        part.iter().for_each(|record| self.count(record));
    }
}

#[cfg(test)]
mod tests {
    use super::Counters;
    use crate::{Flags, Psv, Record, Worker};

    #[test]
    fn a_stall_is_divided_among_intervals() {
        let stall = Record { repeat: 25, in_flight: 1, valid: 1, ..Record::default() };
        let mut commit = Record { cycle: 25, repeat: 1, committing: 1, ..stall };
        commit.entries[0].flags = Flags::MISPREDICTED;
        commit.entries[0].events = Psv::FL_MB;
        let empty = Record { cycle: 26, oldest: 1, repeat: 4, ..Record::default() };
        let mut counters = Counters::every(10);
        counters.take(&[stall, commit, empty]);
        assert_eq!(counters.intervals().map(|counts| counts.cycles).collect::<Vec<_>>(), [10, 10, 10]);
        let total = counters.total();
        assert_eq!((total.instructions, total.mispredictions, total.empty, total.cycles), (1, 1, 4, 30));
        assert_eq!((total.widths[0], total.widths[1], total.events[3]), (29, 1, 1));
    }
}
