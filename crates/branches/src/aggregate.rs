//! Adding traces up: how often each branch was taken, and where the thread branched next.

use crate::modules::Modules;
use crate::pace::Pace;
use std::collections::HashMap;
use timewise_abi::tracing::Effort;
use timewise_profile::{Place, ProcessId, TakenBranch};

/// A branch and the next one of the same trace: where from, where to, and where the next was taken from, 0 at
/// the end of a trace.
type Addresses = [u64; 3];

/// How often something was seen, as it was and with each trace weighted by one over the time that it takes.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    times: u64,
    per_cycle: f64,
}

impl Seen {
    fn add(&mut self, other: Seen) {
        self.times += other.times;
        self.per_cycle += other.per_cycle;
    }
}

/// Traces added up, by address as long as the process's mappings stay the same, then by place.
#[derive(Default)]
pub struct Aggregate {
    recent: HashMap<Addresses, Seen>,
    settled: HashMap<(Place, Place, Option<Place>), Seen>,
    pace: Pace,
    /// Traces that were added.
    pub traces: u64,
    /// Branches in them.
    pub branches: u64,
    /// Branches that start or end outside of all known modules.
    pub unplaced: u64,
}

impl Aggregate {
    /// Adds the branches of a trace, in order.
    pub fn add(&mut self, effort: Effort, branches: &[[u64; 2]]) {
        self.traces += 1;
        self.branches += branches.len() as u64;
        let once = Seen { times: 1, per_cycle: 1.0 / self.pace.cycles(effort, branches).max(1.0) };
        for (number, &[from, to]) in branches.iter().enumerate() {
            let next = branches.get(number + 1).map_or(0, |&[next, _]| next);
            self.recent.entry([from, to, next]).or_default().add(once);
        }
    }

    /// Gives what was added so far its places, as far as they are known; to be called before the mappings
    /// change.
    pub fn settle_known(&mut self, modules: &Modules) {
        let settled = &mut self.settled;
        self.recent.retain(|&[from, to, next], seen| {
            let (Some(from), Some(to)) = (modules.place(from), modules.place(to)) else { return true };
            let next_place = modules.place(next);
            if next != 0 && next_place.is_none() {
                return true;
            }
            settled.entry((from, to, next_place)).or_default().add(*seen);
            false
        });
    }

    /// Gives all that was added its places, and gives up what has none.
    pub fn settle(&mut self, modules: &Modules) {
        self.settle_known(modules);
        for ([from, to, _], seen) in self.recent.drain() {
            match (modules.place(from), modules.place(to)) {
                (Some(from), Some(to)) => self.settled.entry((from, to, None)).or_default().add(seen),
                _ => self.unplaced += seen.times,
            }
        }
    }

    /// Whether an address that was added lies nowhere yet: the process mapped something lately.
    pub fn has_unplaced(&self, modules: &Modules) -> bool {
        let is_known = |address| modules.place(address).is_some();
        self.recent.keys().any(|&[from, to, _]| !is_known(from) || !is_known(to))
    }

    /// The rows of a profile, in order.
    pub fn into_rows(self, process: ProcessId) -> Vec<TakenBranch> {
        let seen = self.settled.values();
        let (times, weight) = seen.fold((0, 0.0), |sum, seen| (sum.0 + seen.times, sum.1 + seen.per_cycle));
        let scale = TakenBranch::WEIGHT_OF_ONE as f64 * times as f64 / weight.max(f64::MIN_POSITIVE);
        let row = |((from, to, next), seen): (_, Seen)| {
            let weight = (seen.per_cycle * scale).round().max(1.0) as u64;
            TakenBranch { process, from, to, next, count: seen.times, weight }
        };
        let mut rows: Vec<TakenBranch> = self.settled.into_iter().map(row).collect();
        rows.sort_unstable_by_key(|row| (row.from, row.to, row.next));
        rows
    }
}
