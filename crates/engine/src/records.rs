//! The records of processes that are still of use. The list in shared memory cannot tell: it breaks off at those whose
//! memory was given back.

use crate::arena::Arena;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use timewise_abi::process::ProcessRecord;

/// Those that were registered and not forgotten.
#[derive(Debug, Default)]
pub struct Records(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// What stood at the head of the list when it was last looked at.
    latest: u64,
    /// Where they lie.
    places: BTreeSet<u64>,
}

impl Records {
    /// All of them, the latest first.
    pub fn all<'a>(&self, arena: &'a Arena) -> Vec<&'a ProcessRecord> {
        let known = self.known(arena);
        known.places.iter().rev().filter_map(|&place| arena.process(place)).collect()
    }

    /// The memory of one is about to be given back.
    pub fn forget(&self, arena: &Arena, record: u64) {
        self.known(arena).places.remove(&record);
    }

    fn known(&self, arena: &Arena) -> MutexGuard<'_, Known> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let head = arena.shared().header().latest_process.load(Ordering::Acquire);
        // None of those before the latest was forgotten: it would have been known.
        let mut next = head;
        while next != known.latest
            && let Some(record) = arena.process(next)
            && known.places.insert(next)
        {
            next = record.previous.load(Ordering::Acquire);
        }
        known.latest = head;
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_abi::GRANULE;
    use timewise_abi::stream::Plan;
    use timewise_injection::payload;

    #[test]
    fn those_before_one_that_was_given_back_are_known() {
        let arena = Arena::new(&payload::load().unwrap(), false, Plan::default(), None, 1 << 30).unwrap();
        let register = |pid: u32| {
            let (record, _) = arena.register(pid, 0).unwrap();
            arena.process(record).unwrap().pid.store(pid, Ordering::Relaxed);
            record
        };
        let pids = || arena.records().into_iter().map(|r| r.pid.load(Ordering::Relaxed)).collect::<Vec<_>>();
        assert_eq!(pids(), []);
        let [_, second, _] = [1, 2, 3].map(register);
        // Forgotten before anyone asked for them.
        arena.give_back_record(second);
        assert_eq!(pids(), [3, 1]);
        let fourth = register(4);
        assert_eq!(pids(), [4, 3, 1]);
        arena.give_back_record(fourth);
        register(5);
        assert_eq!(pids(), [5, 3, 1]);
        assert_eq!(arena.read_word(second + GRANULE - 8), 0);
    }
}
