//! Adding traces up: how often each branch was taken, and where the thread branched next.

use crate::modules::Modules;
use crate::rate::Timings;
use std::collections::HashMap;
use timewise_abi::tracing::Timing;
use timewise_profile::{Place, ProcessId, TakenBranch};

/// A branch and the next one of the same trace: where from, where to, and where the next was taken from, 0 at
/// the end of a trace.
type Addresses = [u64; 3];

/// The kind of a trace: where its most frequent branch leads.
type Kind = u64;

/// How often something was seen, as it was and with each trace weighted by one over its number of instructions.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    times: u64,
    per_instruction: f64,
}

impl Seen {
    fn add(&mut self, other: Seen) {
        self.times += other.times;
        self.per_instruction += other.per_instruction;
    }
}

/// Traces added up, by address as long as the process's mappings stay the same, then by place; by kind, because each
/// has a weight of its own in the end.
#[derive(Debug, Default)]
pub struct Aggregate {
    recent: HashMap<(Kind, Addresses), Seen>,
    settled: HashMap<(Kind, Place, Place, Option<Place>), Seen>,
    kinds: HashMap<Kind, Timings>,
    /// Traces that were added.
    pub traces: u64,
    /// Branches in them.
    pub branches: u64,
    /// Branches that start or end outside of all known modules.
    pub unplaced: u64,
}

impl Aggregate {
    /// Adds the branches of a trace, in order.
    pub fn add(&mut self, timing: Timing, branches: &[[u64; 2]]) {
        self.traces += 1;
        self.branches += branches.len() as u64;
        let kind = most_frequent(branches);
        self.kinds.entry(kind).or_default().add(timing);
        let once = Seen { times: 1, per_instruction: 1.0 / timing.instructions.max(1) as f64 };
        for (number, &[from, to]) in branches.iter().enumerate() {
            let next = branches.get(number + 1).map_or(0, |&[next, _]| next);
            self.recent.entry((kind, [from, to, next])).or_default().add(once);
        }
    }

    /// Gives what was added so far its places, as far as they are known; to be called before the mappings
    /// change.
    pub fn settle_known(&mut self, modules: &Modules) {
        let settled = &mut self.settled;
        self.recent.retain(|&(kind, [from, to, next]), seen| {
            let (Some(from), Some(to)) = (modules.place(from), modules.place(to)) else { return true };
            let next_place = modules.place(next);
            if next != 0 && next_place.is_none() {
                return true;
            }
            settled.entry((kind, from, to, next_place)).or_default().add(*seen);
            false
        });
    }

    /// Gives all that was added its places, and gives up what has none.
    pub fn settle(&mut self, modules: &Modules) {
        self.settle_known(modules);
        for ((kind, [from, to, _]), seen) in self.recent.drain() {
            match (modules.place(from), modules.place(to)) {
                (Some(from), Some(to)) => self.settled.entry((kind, from, to, None)).or_default().add(seen),
                _ => self.unplaced += seen.times,
            }
        }
    }

    /// Whether an address that was added lies nowhere yet: the process mapped something lately.
    pub fn has_unplaced(&self, modules: &Modules) -> bool {
        let is_known = |address| modules.place(address).is_some();
        self.recent.keys().any(|&(_, [from, to, _])| !is_known(from) || !is_known(to))
    }

    /// The rows of a profile, in order.
    pub fn into_rows(self, process: ProcessId) -> Vec<TakenBranch> {
        let usual = Timings::average(self.kinds.values()).unwrap_or(1.0);
        let weight = |timings: &Timings| 1.0 / timings.ticks_of_instruction(usual);
        let weights: HashMap<Kind, f64> =
            self.kinds.iter().map(|(&kind, timings)| (kind, weight(timings))).collect();
        let mut rows: HashMap<(Place, Place, Option<Place>), (u64, f64)> = HashMap::new();
        for ((kind, from, to, next), seen) in self.settled {
            let row = rows.entry((from, to, next)).or_default();
            row.0 += seen.times;
            row.1 += seen.per_instruction * weights.get(&kind).copied().unwrap_or_default();
        }
        let (times, weight) = rows.values().fold((0, 0.0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
        let scale = TakenBranch::WEIGHT_OF_ONE as f64 * times as f64 / weight.max(f64::MIN_POSITIVE);
        let row = |((from, to, next), (count, weight)): (_, (u64, f64))| {
            let weight = (weight * scale).round().max(1.0) as u64;
            TakenBranch { process, from, to, next, count, weight }
        };
        let mut rows: Vec<TakenBranch> = rows.into_iter().map(row).collect();
        rows.sort_unstable_by_key(|row| (row.from, row.to, row.next));
        rows
    }
}

/// Where the most frequent branch leads, the first of several.
fn most_frequent(branches: &[[u64; 2]]) -> Kind {
    let mut times: HashMap<u64, u32> = HashMap::new();
    let mut most = (0, 0);
    for &[_, to] in branches {
        let count = times.entry(to).or_default();
        *count += 1;
        if *count > most.1 {
            most = (to, *count);
        }
    }
    most.0
}
