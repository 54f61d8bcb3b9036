//! Where threads wait: all waits of a thread at one place with one stack, added up.

use std::collections::HashMap;
use timewise_profile::{Place, StackId, ThreadId, Wait};

/// Rows at most. What comes later with a stack that is not there yet is added up without one.
const MOST_ROWS: usize = 200_000;

/// The table as it grows.
#[derive(Debug, Default)]
pub struct Waits {
    rows: HashMap<Key, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    thread: ThreadId,
    place: Option<Place>,
    stack: Option<StackId>,
}

impl Waits {
    /// Adds a wait, or a part of one.
    pub fn add(&mut self, thread: ThreadId, at: (Option<Place>, Option<StackId>), duration_ns: u64) {
        let mut key = Key { thread, place: at.0, stack: at.1 };
        if self.rows.len() >= MOST_ROWS && !self.rows.contains_key(&key) {
            key = Key { place: None, stack: None, ..key };
        }
        let sum_ns = self.rows.entry(key).or_insert(0);
        *sum_ns = sum_ns.saturating_add(duration_ns);
    }

    /// All rows, longest first. How often they waited, looks from time to time do not tell.
    pub fn into_vec(self) -> Vec<Wait> {
        let row = |(Key { thread, place, stack }, duration_ns)| Wait {
            thread,
            place,
            stack,
            times: None,
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
        waits.add(ThreadId(1), (place(8), None), 30);
        waits.add(ThreadId(0), (place(8), None), 50);
        waits.add(ThreadId(1), (place(8), None), 40);
        waits.add(ThreadId(1), (place(9), Some(StackId(3))), 10);
        let rows = waits.into_vec();
        let found: Vec<_> = rows.iter().map(|w| (w.thread.0, w.duration_ns)).collect();
        assert_eq!(found, [(1, 70), (0, 50), (1, 10)]);
    }
}
