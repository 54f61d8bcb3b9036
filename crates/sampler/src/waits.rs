//! Where threads wait: all waits of a thread at one place with one stack, added up.

use std::collections::HashMap;
use timewise_profile::{Place, StackId, ThreadId, Wait};

/// Rows at most. What comes later with a stack that is not there yet is added up without one.
const MOST_ROWS: usize = 200_000;

/// Where a thread waits, and who called it there, as far as that is known.
pub type At = (Option<Place>, Option<StackId>);

/// The table as it grows.
#[derive(Debug, Default)]
pub struct Waits {
    rows: HashMap<(ThreadId, At), Sum>,
}

#[derive(Debug)]
struct Sum {
    /// `None` once it is not known of all.
    times: Option<u64>,
    duration_ns: u64,
}

impl Waits {
    /// Adds so many waits, or a part of some number of them.
    pub fn add(&mut self, thread: ThreadId, at: At, times: Option<u64>, duration_ns: u64) {
        let mut key = (thread, at);
        if self.rows.len() >= MOST_ROWS && !self.rows.contains_key(&key) {
            key = (thread, At::default());
        }
        let sum = self.rows.entry(key).or_insert(Sum { times: Some(0), duration_ns: 0 });
        sum.times = sum.times.zip(times).map(|(one, other)| one.saturating_add(other));
        sum.duration_ns = sum.duration_ns.saturating_add(duration_ns);
    }

    /// How long all threads waited together.
    pub fn total_ns(&self) -> u64 {
        self.rows.values().fold(0, |sum, row| sum.saturating_add(row.duration_ns))
    }

    /// All rows, longest first.
    pub fn into_vec(self) -> Vec<Wait> {
        let row = |((thread, (place, stack)), Sum { times, duration_ns })| Wait {
            thread,
            place,
            stack,
            times,
            duration_ns,
        };
        let mut rows: Vec<Wait> = self.rows.into_iter().map(row).collect();
        rows.sort_by_key(|w| (std::cmp::Reverse(w.duration_ns), w.thread, w.place, w.stack));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::{CodeVersion, ModuleId, Offset};

    #[test]
    fn waits_of_one_stack_are_one_row() {
        let place =
            |offset| Some(Place { module: ModuleId(0), version: CodeVersion(0), offset: Offset(offset) });
        let mut waits = Waits::default();
        waits.add(ThreadId(1), (place(8), None), Some(1), 30);
        waits.add(ThreadId(0), (place(8), None), Some(1), 50);
        waits.add(ThreadId(0), (place(8), None), None, 5);
        waits.add(ThreadId(1), (place(8), None), Some(2), 40);
        waits.add(ThreadId(1), (place(9), Some(StackId(3))), Some(1), 10);
        assert_eq!(waits.total_ns(), 135);
        let rows = waits.into_vec();
        let found: Vec<_> = rows.iter().map(|w| (w.thread.0, w.times, w.duration_ns)).collect();
        assert_eq!(found, [(1, Some(3), 70), (0, None, 55), (1, Some(1), 10)]);
    }
}
