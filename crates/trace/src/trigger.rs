//! When tracing starts and when it stops.

use crate::{Observer, Record};

/// A moment of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The beginning of this cycle.
    Cycle(u64),
    /// The first cycle in which the instruction with this sequence number is the oldest: so many have
    /// committed before.
    Instruction(u64),
    /// The cycle in which this static instruction commits, the first time.
    Address(u32),
}

/// Lets through the part of a trace from one moment to another.
pub struct Gate<O> {
    inner: O,
    start: Option<Moment>,
    stop: Option<Moment>,
}

impl<O: Observer> Gate<O> {
    /// From `start` on, or from the beginning, until `stop`, or to the end. The cycle of `start` is the
    /// first that comes through, that of `stop` the first that does not; a stop counts from the start on.
    pub fn new(inner: O, start: Option<Moment>, stop: Option<Moment>) -> Self {
        Self { inner, start, stop }
    }

    /// What stands behind the gate.
    pub fn into_inner(self) -> O {
        self.inner
    }

    /// Whether the part has ended: what still comes will not be let through.
    pub fn is_over(&self) -> bool {
        self.start.is_none() && self.stop == Some(Moment::Cycle(0))
    }
}

impl<O: Observer> Observer for Gate<O> {
    fn observe(&mut self, record: &Record) {
        let mut record = *record;
        if let Some(start) = self.start {
            let Some(cycle) = first_cycle(start, &record) else { return };
            self.start = None;
            record.repeat = until(cycle, record.end());
            record.cycle = cycle;
        }
        let stopped = self.stop.and_then(|stop| first_cycle(stop, &record));
        if let Some(cycle) = stopped {
            // All that comes is behind this moment.
            self.stop = Some(Moment::Cycle(0));
            record.repeat = until(record.cycle, cycle);
        }
        if record.repeat > 0 {
            self.inner.observe(&record);
        }
    }
}

/// The first of a record's cycles that is at the moment or behind it.
fn first_cycle(moment: Moment, record: &Record) -> Option<u64> {
    let is_behind = match moment {
        Moment::Cycle(cycle) => return (cycle < record.end()).then_some(cycle.max(record.cycle)),
        Moment::Instruction(sequence) => record.oldest >= sequence,
        Moment::Address(instruction) => record.commits().iter().any(|entry| entry.instruction == instruction),
    };
    is_behind.then_some(record.cycle)
}

/// The length of a part of a record, which fits as the record's own does.
fn until(from: u64, to: u64) -> u32 {
    u32::try_from(to - from).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Gate, Moment};
    use crate::{Observer, Record};

    /// Instruction 0 waits for cycles 0 to 9 and commits in 10, instruction 1 (static 5) commits in 11,
    /// instruction 2 in 12.
    fn seen(start: Option<Moment>, stop: Option<Moment>) -> Vec<(u64, u32)> {
        let mut seen = Vec::new();
        let mut gate = Gate::new(|record: &Record| seen.push((record.cycle, record.repeat)), start, stop);
        let mut record = Record { repeat: 10, in_flight: 3, valid: 1, ..Record::default() };
        gate.observe(&record);
        for oldest in 0..3 {
            record = Record { cycle: 10 + oldest, oldest, repeat: 1, committing: 1, ..record };
            record.entries[0].instruction = if oldest == 1 { 5 } else { 3 };
            gate.observe(&record);
        }
        seen
    }

    #[test]
    fn cycles_cut_records_that_are_repeated() {
        assert_eq!(seen(Some(Moment::Cycle(4)), Some(Moment::Cycle(7))), [(4, 3)]);
        assert_eq!(seen(Some(Moment::Cycle(8)), None), [(8, 2), (10, 1), (11, 1), (12, 1)]);
        assert_eq!(seen(None, Some(Moment::Cycle(0))), []);
    }

    #[test]
    fn instructions_count_from_where_they_are_the_oldest() {
        assert_eq!(seen(Some(Moment::Instruction(1)), Some(Moment::Instruction(2))), [(11, 1)]);
        assert_eq!(seen(Some(Moment::Instruction(9)), None), []);
    }

    #[test]
    fn addresses_count_when_they_commit() {
        assert_eq!(seen(Some(Moment::Address(5)), None), [(11, 1), (12, 1)]);
        assert_eq!(seen(None, Some(Moment::Address(5))), [(0, 10), (10, 1)]);
    }

    #[test]
    fn a_stop_is_behind_the_start() {
        assert_eq!(seen(Some(Moment::Cycle(11)), Some(Moment::Cycle(3))), []);
    }
}
