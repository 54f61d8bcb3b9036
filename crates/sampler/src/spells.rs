//! Waits from switches: how long threads are off their processors, each time from when they leave to when they come
//! back.
//!
//! Where a thread's waits are too many for each to have its stack, those without one are divided among the places of
//! its other waits that lasted about as long, and stay without a place where it has none of those. So the sum is exact in any
//! case, and the division is as soon as every wait has its place.

use crate::record::RawSample;
use crate::waits::{At, Waits};
use std::collections::{BTreeMap, HashMap};
use timewise_profile::ThreadId;

/// All threads that have not ended.
#[derive(Debug, Default)]
pub struct Spells {
    threads: HashMap<ThreadId, Thread>,
    /// How much of the waiting was divided among places.
    pub divided_ns: u64,
    /// How much has no place, as no other wait of its thread that lasted as long has one.
    pub placeless_ns: u64,
}

#[derive(Debug, Default)]
struct Thread {
    /// Its stack as it is about to leave its processor.
    leaving: Option<Box<RawSample>>,
    off: Option<Off>,
    /// By how long they lasted.
    waits: BTreeMap<Class, Alike>,
}

/// Waits of which none is twice as long as another: the logarithm of their nanoseconds.
type Class = u32;

/// Waits that lasted about as long.
#[derive(Debug, Default)]
struct Alike {
    placed_ns: HashMap<At, u64>,
    unplaced: u64,
    unplaced_ns: u64,
}

/// A thread is off its processor, and not because others had their turn.
#[derive(Clone, Copy, Debug)]
struct Off {
    since_ns: u64,
    at: Option<At>,
}

impl Spells {
    /// A thread is about to leave its processor.
    pub fn leaving(&mut self, thread: ThreadId, raw: RawSample) {
        self.threads.entry(thread).or_default().leaving = Some(Box::new(raw));
    }

    /// Its stack, if it was told of just before.
    pub fn stack(&mut self, thread: ThreadId) -> Option<Box<RawSample>> {
        self.threads.get_mut(&thread)?.leaving.take()
    }

    /// A thread leaves its processor.
    pub fn left(&mut self, thread: ThreadId, now_ns: u64, preempted: bool, at: Option<At>) {
        // If it left before, when it came back was lost, and so how long it was away.
        let off = (!preempted).then_some(Off { since_ns: now_ns, at });
        self.threads.entry(thread).or_default().off = off;
    }

    /// Switches were lost: threads taken to be away may have been back meanwhile, so what they wait is left out.
    pub fn forget(&mut self) {
        for known in self.threads.values_mut() {
            (known.off, known.leaving) = (None, None);
        }
    }

    /// A thread was found where it waits.
    pub fn found(&mut self, thread: ThreadId, at: At) {
        let off = self.threads.get_mut(&thread).and_then(|known| known.off.as_mut());
        if let Some(off) = off.filter(|off| off.at.is_none()) {
            off.at = Some(at);
        }
    }

    /// A thread is back.
    pub fn came(&mut self, thread: ThreadId, now_ns: u64, waits: &mut Waits) {
        let Some(known) = self.threads.get_mut(&thread) else { return };
        known.leaving = None;
        let Some(Off { since_ns, at }) = known.off.take() else { return };
        let duration_ns = now_ns.saturating_sub(since_ns);
        let alike = known.waits.entry(duration_ns.checked_ilog2().unwrap_or_default()).or_default();
        match at {
            Some(at) => {
                waits.add(thread, at, Some(1), duration_ns);
                if alike.placed_ns.len() < MOST_PLACES || alike.placed_ns.contains_key(&at) {
                    *alike.placed_ns.entry(at).or_default() += duration_ns;
                }
            }
            None => {
                alike.unplaced += 1;
                alike.unplaced_ns += duration_ns;
            }
        }
    }

    /// A thread has ended.
    pub fn ended(&mut self, thread: ThreadId, waits: &mut Waits) {
        let Some(Thread { waits: classes, .. }) = self.threads.remove(&thread) else { return };
        for Alike { placed_ns, unplaced, unplaced_ns } in
            classes.into_values().filter(|alike| alike.unplaced > 0)
        {
            let parts = in_proportion(placed_ns);
            if parts.is_empty() {
                self.placeless_ns += unplaced_ns;
                waits.add(thread, At::default(), Some(unplaced), unplaced_ns);
                continue;
            }
            self.divided_ns += unplaced_ns;
            let (times, parts_ns) = (divided(unplaced, &parts), divided(unplaced_ns, &parts));
            for ((&(at, _), times), part_ns) in parts.iter().zip(times).zip(parts_ns) {
                waits.add(thread, at, Some(times), part_ns);
            }
        }
    }

    /// The recording ends; who waits, has waited until now.
    pub fn finish(&mut self, now_ns: u64, waits: &mut Waits) {
        let mut threads: Vec<ThreadId> = self.threads.keys().copied().collect();
        // Which stacks there is still room for must not depend on the order of a hash map.
        threads.sort_unstable();
        for thread in threads {
            self.came(thread, now_ns, waits);
            self.ended(thread, waits);
        }
    }
}

/// Places of a thread's waits of one class at most; what goes beyond does not take part in the division.
const MOST_PLACES: usize = 1000;

/// The share of each place, the largest last.
fn in_proportion(placed_ns: HashMap<At, u64>) -> Vec<(At, f64)> {
    let whole: f64 = placed_ns.values().map(|&part| part as f64).sum();
    let share = |(at, part_ns)| (at, part_ns as f64 / whole);
    let mut shares: Vec<(At, f64)> = placed_ns.into_iter().filter(|&(_, part)| part > 0).map(share).collect();
    // Who comes last must not depend on the order of a hash map.
    shares.sort_by(|(at, one), (there, other)| one.total_cmp(other).then(at.cmp(there)));
    shares
}

/// A sum by shares; the last gets what rounding leaves.
fn divided(sum: u64, shares: &[(At, f64)]) -> Vec<u64> {
    let mut rest = sum;
    let mut parts: Vec<u64> = shares
        .iter()
        .map(|&(_, share)| {
            let part = ((sum as f64 * share) as u64).min(rest);
            rest -= part;
            part
        })
        .collect();
    if let Some(last) = parts.last_mut() {
        *last += rest;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waits::MOST_ROWS;
    use timewise_profile::{CodeVersion, ModuleId, Offset, Place};

    const THREAD: ThreadId = ThreadId(4);

    fn at(offset: u64) -> At {
        (Some(Place { module: ModuleId(0), version: CodeVersion(0), offset: Offset(offset) }), None)
    }

    /// Leaves and comes back, by turns: where it was, if that is known, and for how long.
    fn waited(turns: impl IntoIterator<Item = (Option<u64>, u64)>) -> (Spells, Vec<(u64, Option<u64>, u64)>) {
        let (mut spells, mut waits, mut now_ns) = (Spells::default(), Waits::default(), 100);
        for (offset, duration_ns) in turns {
            spells.left(THREAD, now_ns, false, offset.map(at));
            now_ns += duration_ns;
            spells.came(THREAD, now_ns, &mut waits);
            now_ns += 7;
        }
        spells.finish(now_ns, &mut waits);
        let offset = |place: Option<Place>| place.map_or(0, |place| place.offset.0);
        let row = |wait: timewise_profile::Wait| (offset(wait.place), wait.times, wait.duration_ns);
        (spells, waits.into_vec().into_iter().map(row).collect())
    }

    #[test]
    fn each_wait_with_a_stack_is_exact() {
        let (spells, rows) = waited([(Some(1), 500), (Some(2), 30), (Some(1), 400)]);
        assert_eq!(rows, [(1, Some(2), 900), (2, Some(1), 30)]);
        assert_eq!(spells.divided_ns, 0);
    }

    #[test]
    fn waits_without_a_stack_are_divided_like_those_that_lasted_as_long() {
        // Of the long ones one in ten has a stack, of the short ones one in a hundred; two kinds of short ones.
        let turns = (0..60_000_u64).map(|n| match n % 6 {
            0 => ((n % 10 == 0).then_some(1), 1000),
            2 => ((n % 100 == 2).then_some(2), 8),
            _ => ((n % 75 == 1).then_some(3), 8),
        });
        let (spells, rows) = waited(turns);
        let all: u64 = rows.iter().map(|row| row.2).sum();
        assert_eq!(all, 10_000 * 1000 + 50_000 * 8);
        assert_eq!(rows.iter().map(|row| row.1.unwrap()).sum::<u64>(), 60_000);
        assert_eq!(rows[0], (1, Some(10_000), 10_000 * 1000));
        let share = rows.iter().find(|row| row.0 == 2).unwrap().2 as f64 / (50_000.0 * 8.0);
        assert!((0.15..0.25).contains(&share), "{rows:?}");
        assert!(spells.divided_ns > all / 2 && spells.divided_ns < all);
    }

    #[test]
    fn places_of_no_wait_are_unknown_and_sums_exact_all_the_same() {
        let (spells, rows) = waited([(None, 500), (None, 30), (Some(1), 20), (Some(2), 31)]);
        assert_eq!(rows, [(0, Some(1), 500), (2, Some(2), 31 + 19), (1, Some(1), 20 + 11)]);
        assert_eq!((spells.placeless_ns, spells.divided_ns), (500, 30));
    }

    #[test]
    fn threads_that_wait_at_the_end_are_taken_in_order() {
        const THREADS: u32 = MOST_ROWS as u32 + 1000;
        let (mut spells, mut waits) = (Spells::default(), Waits::default());
        (0..THREADS).for_each(|thread| spells.left(ThreadId(thread), 100, false, Some(at(1))));
        spells.finish(200, &mut waits);
        let rows = waits.into_vec();
        let without_place: Vec<u32> =
            rows.iter().filter(|row| row.place.is_none()).map(|row| row.thread.0).collect();
        assert!(without_place.into_iter().eq(MOST_ROWS as u32..THREADS));
    }

    #[test]
    fn what_spans_lost_switches_is_left_out() {
        let (mut spells, mut waits) = (Spells::default(), Waits::default());
        spells.left(THREAD, 100, false, Some(at(1)));
        // It came back and left again unseen.
        spells.forget();
        spells.came(THREAD, 900, &mut waits);
        spells.left(THREAD, 1000, false, Some(at(2)));
        spells.came(THREAD, 1003, &mut waits);
        spells.finish(2000, &mut waits);
        assert_eq!(waits.total_ns(), 3);
    }

    #[test]
    fn preemption_is_no_wait_and_what_was_not_seen_is_left_out() {
        let (mut spells, mut waits) = (Spells::default(), Waits::default());
        spells.came(THREAD, 50, &mut waits);
        spells.left(THREAD, 100, true, None);
        spells.came(THREAD, 170, &mut waits);
        // When it came back from the first is not known.
        spells.left(THREAD, 200, false, Some(at(1)));
        spells.left(THREAD, 300, false, Some(at(2)));
        spells.came(THREAD, 310, &mut waits);
        // It waits still, when the recording ends, and was looked up meanwhile.
        spells.left(THREAD, 400, false, None);
        spells.found(THREAD, at(3));
        spells.found(THREAD, at(4));
        spells.finish(450, &mut waits);
        let rows: Vec<_> = waits.into_vec().iter().map(|w| (w.place, w.times, w.duration_ns)).collect();
        assert_eq!(rows, [(at(3).0, Some(1), 50), (at(2).0, Some(1), 10)]);
        assert_eq!(spells.divided_ns, 0);
    }

    #[test]
    fn a_stack_serves_the_switch_that_follows_it() {
        let mut spells = Spells::default();
        let raw = || RawSample::in_kernel(1, 2);
        assert!(spells.stack(THREAD).is_none());
        spells.leaving(THREAD, raw());
        assert!(spells.stack(THREAD).is_some());
        assert!(spells.stack(THREAD).is_none());
        // The record of the switch was lost.
        spells.leaving(THREAD, raw());
        spells.came(THREAD, 9, &mut Waits::default());
        assert!(spells.stack(THREAD).is_none());
    }
}
