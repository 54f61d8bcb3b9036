//! When tracing starts and when it stops.

use std::sync::{Arc, PoisonError, RwLock};

use crate::{Entry, Record, Worker};

/// A moment of a run.
#[derive(Debug, Clone)]
pub enum Moment {
    /// The beginning of this cycle.
    Cycle(u64),
    /// The first cycle in which the instruction with this sequence number is the oldest: so many have
    /// committed before.
    Instruction(u64),
    /// The cycle in which one of these static instructions commits, the first time.
    Commit(Numbers),
}

/// Numbers of static instructions, to which whoever numbers them adds while the trace goes on: code that
/// is met again in another block gets another number.
#[derive(Debug, Clone, Default)]
pub struct Numbers(Arc<RwLock<Vec<u32>>>);

impl Numbers {
    /// Adds one. Records that are made from here on may name it.
    pub fn add(&self, instruction: u32) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(instruction);
    }

    fn commit_in(&self, record: &Record) -> bool {
        let numbers = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let is_watched = |entry: &Entry| numbers.contains(&entry.instruction);
        record
            .commits()
            .iter()
            .any(|entry| is_watched(entry) || entry.nop().is_some_and(|nop| is_watched(&nop)))
    }
}

/// A worker that lets another one see the part of a trace from one moment to another.
pub struct Gate<W> {
    inner: W,
    start: Option<Moment>,
    stop: Option<Moment>,
    is_over: bool,
    passed: Vec<Record>,
}

impl<W: Worker<Record>> Gate<W> {
    /// From `start` on, or from the beginning, until `stop`, or to the end. The cycle of `start` is the
    /// first that comes through, that of `stop` the first that does not; a stop counts from the start on.
    pub fn new(inner: W, start: Option<Moment>, stop: Option<Moment>) -> Self {
        Self { inner, start, stop, is_over: false, passed: Vec::new() }
    }

    /// Whether `start` has come.
    pub fn has_begun(&self) -> bool {
        self.start.is_none()
    }

    /// What stands behind the gate.
    pub fn into_inner(self) -> W {
        self.inner
    }

    /// What of a record is let through.
    fn pass(&mut self, record: &Record) -> Option<Record> {
        let mut record = *record;
        if let Some(start) = &self.start {
            let cycle = first_cycle(start, &record)?;
            self.start = None;
            record.repeat = until(cycle, record.end());
            record.cycle = cycle;
        }
        if let Some(cycle) = self.stop.as_ref().and_then(|stop| first_cycle(stop, &record)) {
            self.is_over = true;
            record.repeat = until(record.cycle, cycle);
        }
        Some(record).filter(|record| record.repeat > 0)
    }
}

impl<W: Worker<Record>> Worker<Record> for Gate<W> {
    fn take(&mut self, part: &[Record]) {
        if self.start.is_none() && self.stop.is_none() {
            return self.inner.take(part);
        }
        let mut passed = std::mem::take(&mut self.passed);
        passed.clear();
        for record in part {
            if self.is_over {
                break;
            }
            passed.extend(self.pass(record));
        }
        self.inner.take(&passed);
        self.passed = passed;
    }
}

/// The first of a record's cycles that is at the moment or behind it.
fn first_cycle(moment: &Moment, record: &Record) -> Option<u64> {
    let is_behind = match moment {
        Moment::Cycle(cycle) => return (*cycle < record.end()).then_some(record.cycle.max(*cycle)),
        Moment::Instruction(sequence) => record.oldest >= *sequence,
        Moment::Commit(numbers) => numbers.commit_in(record),
    };
    is_behind.then_some(record.cycle)
}

/// The length of a part of a record, which fits as the record's own does.
fn until(from: u64, to: u64) -> u32 {
    u32::try_from(to - from).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Gate, Moment, Numbers};
    use crate::{Record, Worker};

    struct Seen(Vec<(u64, u32)>);

    impl Worker<Record> for Seen {
        fn take(&mut self, part: &[Record]) {
            self.0.extend(part.iter().map(|record| (record.cycle, record.repeat)));
        }
    }

    /// Instruction 0 waits for cycles 0 to 9 and commits in 10, instruction 1 (static 5) commits in 11,
    /// instruction 2 in 12.
    fn trace() -> Vec<Record> {
        let mut record = Record { repeat: 10, in_flight: 3, valid: 1, ..Record::default() };
        let mut trace = vec![record];
        for oldest in 0..3 {
            record = Record { cycle: 10 + oldest, oldest, repeat: 1, committing: 1, ..record };
            record.entries[0].instruction = if oldest == 1 { 5 } else { 3 };
            trace.push(record);
        }
        trace
    }

    /// What is let through, wherever the trace is cut into parts.
    fn seen(start: Option<Moment>, stop: Option<Moment>) -> Vec<(u64, u32)> {
        let trace = trace();
        let by = |length| {
            let mut gate = Gate::new(Seen(Vec::new()), start.clone(), stop.clone());
            trace.chunks(length).for_each(|part| gate.take(part));
            gate.into_inner().0
        };
        let whole = by(trace.len());
        assert!((1..trace.len()).all(|length| by(length) == whole));
        whole
    }

    #[test]
    fn without_moments_all_comes_through() {
        assert_eq!(seen(None, None), [(0, 10), (10, 1), (11, 1), (12, 1)]);
    }

    #[test]
    fn a_gate_that_stays_shut_says_so() {
        let begins = |start| {
            let mut gate = Gate::new(Seen(Vec::new()), start, None);
            gate.take(&trace());
            gate.has_begun()
        };
        assert!(begins(None) && begins(Some(Moment::Cycle(12))));
        assert!(!begins(Some(Moment::Cycle(13))) && !begins(Some(Moment::Instruction(9))));
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
    fn static_instructions_count_when_they_commit() {
        let numbers = Numbers::default();
        let commit = || Some(Moment::Commit(numbers.clone()));
        assert_eq!(seen(commit(), None), [], "which one is not known yet");
        numbers.add(8);
        numbers.add(5);
        assert_eq!(seen(commit(), None), [(11, 1), (12, 1)]);
        assert_eq!(seen(None, commit()), [(0, 10), (10, 1)]);
    }

    #[test]
    fn a_stop_is_behind_the_start() {
        assert_eq!(seen(Some(Moment::Cycle(11)), Some(Moment::Cycle(3))), []);
        assert_eq!(seen(Some(Moment::Instruction(1)), Some(Moment::Cycle(12))), [(11, 1)]);
    }
}
