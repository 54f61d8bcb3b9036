//! Adding traces up: how often each branch was taken, and where the thread branched next.

use crate::modules::Modules;
use std::collections::HashMap;
use timewise_profile::{Place, ProcessId, TakenBranch};

/// A branch and the next one of the same trace: where from, where to, and where the next was taken from, 0 at
/// the end of a trace.
type Addresses = [u64; 3];

/// Traces added up, by address as long as the process's mappings stay the same, then by place.
#[derive(Debug, Default)]
pub struct Aggregate {
    recent: HashMap<Addresses, u64>,
    settled: HashMap<(Place, Place, Option<Place>), u64>,
    /// Traces that were added.
    pub traces: u64,
    /// Branches in them.
    pub branches: u64,
    /// Branches that start or end outside of all known modules.
    pub unplaced: u64,
}

impl Aggregate {
    /// Adds the branches of a trace, in order.
    pub fn add(&mut self, branches: &[[u64; 2]]) {
        self.traces += 1;
        self.branches += branches.len() as u64;
        for (number, &[from, to]) in branches.iter().enumerate() {
            let next = branches.get(number + 1).map_or(0, |&[next, _]| next);
            *self.recent.entry([from, to, next]).or_default() += 1;
        }
    }

    /// Gives what was added so far its places, as far as they are known; to be called before the mappings
    /// change.
    pub fn settle_known(&mut self, modules: &Modules) {
        let settled = &mut self.settled;
        self.recent.retain(|&[from, to, next], count| {
            let (Some(from), Some(to)) = (modules.place(from), modules.place(to)) else { return true };
            let next_place = modules.place(next);
            if next != 0 && next_place.is_none() {
                return true;
            }
            *settled.entry((from, to, next_place)).or_default() += *count;
            false
        });
    }

    /// Gives all that was added its places, and gives up what has none.
    pub fn settle(&mut self, modules: &Modules) {
        self.settle_known(modules);
        for ([from, to, _], count) in self.recent.drain() {
            match (modules.place(from), modules.place(to)) {
                (Some(from), Some(to)) => *self.settled.entry((from, to, None)).or_default() += count,
                _ => self.unplaced += count,
            }
        }
    }

    /// Whether an address that was added lies nowhere yet: the process mapped something lately.
    pub fn has_unplaced(&self, modules: &Modules) -> bool {
        self.recent.keys().any(|&[from, to, _]| modules.place(from).is_none() || modules.place(to).is_none())
    }

    /// The rows of a profile, in order.
    pub fn into_rows(self, process: ProcessId) -> Vec<TakenBranch> {
        let row = |((from, to, next), count)| TakenBranch { process, from, to, next, count };
        let mut rows: Vec<TakenBranch> = self.settled.into_iter().map(row).collect();
        rows.sort_unstable_by_key(|row| (row.from, row.to, row.next));
        rows
    }
}
