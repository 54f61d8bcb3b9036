//! Adding traces up: how often each branch was taken, and where the thread branched next.

use crate::costs::Costs;
use crate::modules::Modules;
use crate::pace::Pace;
use crate::rounds::Rounds;
use crate::trace::Trace;
use std::collections::HashMap;
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
pub struct Aggregate {
    recent: HashMap<Addresses, Seen>,
    settled: HashMap<(Place, Place, Option<Place>), Seen>,
    pace: Pace,
    rounds: Rounds,
    /// Traces that were added.
    pub traces: u64,
    /// Branches in them.
    pub branches: u64,
    /// Branches that start or end outside of all known modules.
    pub unplaced: u64,
}

impl Aggregate {
    /// None yet, of a processor with these costs.
    pub fn new(costs: Costs) -> Aggregate {
        Aggregate {
            recent: HashMap::new(),
            settled: HashMap::new(),
            pace: Pace::new(costs),
            rounds: Rounds::new(costs),
            traces: 0,
            branches: 0,
            unplaced: 0,
        }
    }

    /// Adds the branches of a trace. All that was mapped before it must be known.
    pub fn add(&mut self, trace: &Trace, modules: &Modules) {
        self.traces += 1;
        self.branches += trace.branches.len() as u64;
        let cycles = self.pace.cycles(trace.effort, &trace.branches) + self.rounds.waits(trace, modules);
        let once = Seen { times: 1, per_cycle: 1.0 / cycles.max(1.0) };
        let mut timed = trace.timed().peekable();
        while let Some((time, [from, to])) = timed.next() {
            let next = timed.peek().copied();
            if modules.is_current(time) {
                let next = next.map_or(0, |(_, [next, _])| next);
                self.recent.entry([from, to, next]).or_default().add(once);
                continue;
            }
            // It was under way while something was mapped.
            let next = next.and_then(|(later, [next, _])| modules.place_at(next, later));
            match (modules.place_at(from, time), modules.place_at(to, time)) {
                (Some(from), Some(to)) => self.settled.entry((from, to, next)).or_default().add(once),
                _ => self.unplaced += 1,
            }
        }
    }

    /// Gives what was added so far its places, as far as they are known; to be called before the mappings
    /// change.
    pub fn settle_known(&mut self, modules: &Modules) {
        self.rounds.forget();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::tests::mapped;
    use timewise_abi::tracing::TIME_MARK;

    /// Each branch belongs to what lay there when it was found, whenever its trace arrives.
    #[test]
    fn what_is_mapped_in_turn_at_one_place_is_told_apart() {
        let changes = [(0, 10, 100, "[program]"), (10, 200, 300, "[one]"), (20, 200, 300, "[two]")];
        let trace = |time, pairs: &[[u64; 2]]| Trace::new(Default::default(), time, pairs.iter().copied());
        let mut aggregate = Aggregate::new(Costs::here());
        let modules = mapped(&changes[..2]);
        aggregate.add(&trace(15, &[[50, 250], [260, 60]]), &modules);
        aggregate.settle_known(&modules);
        let modules = mapped(&changes);
        aggregate.add(&trace(16, &[[50, 250], [260, 60]]), &modules);
        aggregate.add(&trace(17, &[[50, 250], [260, 60], [TIME_MARK, 22], [50, 250]]), &modules);
        aggregate.add(&trace(23, &[[50, 250], [260, 60]]), &modules);
        aggregate.settle(&modules);
        let rows = aggregate.into_rows(ProcessId(0));
        let row = |row: &TakenBranch| {
            let next = row.next.map_or(u32::MAX, |next| next.module.0);
            (row.from.module.0, row.to.module.0, next, row.count)
        };
        let rows: Vec<_> = rows.iter().map(row).collect();
        let end = u32::MAX;
        assert_eq!(
            rows,
            [(0, 1, 1, 3), (0, 2, end, 1), (0, 2, 2, 1), (1, 0, end, 2), (1, 0, 0, 1), (2, 0, end, 1)]
        );
    }
}
