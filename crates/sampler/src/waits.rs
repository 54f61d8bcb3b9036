//! Where threads wait: all waits of a thread at one place with one stack, added up.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use timewise_profile::{Place, StackId, ThreadId, Wait};

/// Rows at most. What comes later with a stack that is not there yet is added up without one.
pub const MOST_ROWS: usize = 200_000;

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

/// What looks found of a thread.
#[derive(Debug, Default)]
struct Looked {
    waited_ns: u64,
    places: Vec<(At, u64)>,
}

/// What threads waited in a place, and what was given to it of those that were never found.
#[derive(Debug, Default)]
struct Share {
    found_ns: f64,
    given_ns: f64,
}

/// Places of threads that waited about as long, at most; what goes beyond gets nothing of the others.
const MOST_PLACES: usize = 100;

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

    /// What threads waited that no look ever found waiting, is given to the places of others of the same kind that waited
    /// about as long in all: each to one place, so that the places keep their shares.
    pub fn place_those_never_found<K: Eq + Hash + Copy>(&mut self, kind: impl Fn(ThreadId) -> K) {
        let mut threads: BTreeMap<ThreadId, Looked> = BTreeMap::new();
        for (&(thread, at), sum) in self.rows.iter().filter(|(_, sum)| sum.times.is_none()) {
            let looked = threads.entry(thread).or_default();
            looked.waited_ns += sum.duration_ns;
            looked.places.extend((at != At::default()).then_some((at, sum.duration_ns)));
        }
        // Which places there is room for must not depend on the order of a hash map.
        threads.values_mut().for_each(|looked| looked.places.sort_unstable());
        let mut alike: HashMap<(K, u32), BTreeMap<At, Share>> = HashMap::new();
        let class = |thread, looked: &Looked| (kind(thread), looked.waited_ns.checked_ilog2().unwrap_or(0));
        for (&thread, looked) in &threads {
            let shares = alike.entry(class(thread, looked)).or_default();
            for &(at, duration_ns) in &looked.places {
                if shares.len() < MOST_PLACES || shares.contains_key(&at) {
                    shares.entry(at).or_default().found_ns += duration_ns as f64;
                }
            }
        }
        for (&thread, looked) in threads.iter().filter(|(_, looked)| looked.places.is_empty()) {
            let Some(shares) = alike.get_mut(&class(thread, looked)) else { continue };
            let found_ns: f64 = shares.values().map(|share| share.found_ns).sum();
            let given_ns: f64 = shares.values().map(|share| share.given_ns).sum();
            let due = |share: &Share| {
                share.found_ns / found_ns * (given_ns + looked.waited_ns as f64) - share.given_ns
            };
            let most_due = shares.iter_mut().max_by(|(_, one), (_, other)| due(one).total_cmp(&due(other)));
            if let Some((&at, share)) = most_due
                && let Some(sum) = self.rows.remove(&(thread, At::default()))
            {
                share.given_ns += sum.duration_ns as f64;
                self.add(thread, at, sum.times, sum.duration_ns);
            }
        }
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

    #[test]
    fn who_was_never_found_waits_where_others_of_its_kind_do() {
        let place =
            |offset| Some(Place { module: ModuleId(0), version: CodeVersion(0), offset: Offset(offset) });
        let mut waits = Waits::default();
        // Of long ones half are found, all in one place; of short ones one in ten, in two places.
        for thread in 0..200 {
            let (offset, duration_ns, found) = match thread % 2 {
                0 => (1, 1000, thread % 4 == 0),
                _ => (2 + u64::from(thread % 3 == 0), 20, thread % 20 < 3),
            };
            let at = if found { (place(offset), None) } else { At::default() };
            waits.add(ThreadId(thread), at, None, duration_ns);
        }
        // Another kind, of which none was found; and one whose every switch was seen.
        waits.add(ThreadId(300), At::default(), None, 1000);
        waits.add(ThreadId(200), At::default(), Some(1), 1000);
        // Of one that was never found, what was seen before there were looks.
        waits.add(ThreadId(2), (place(1), None), Some(3), 500);
        let total_ns = waits.total_ns();
        waits.place_those_never_found(|thread| thread.0 < 300);
        assert_eq!(waits.total_ns(), total_ns);
        let at = |offset: Option<Place>| -> u64 {
            waits.rows.iter().filter(|((_, at), _)| at.0 == offset).map(|(_, sum)| sum.duration_ns).sum()
        };
        assert_eq!((at(place(1)), at(None)), (100_500, 2000));
        assert_eq!(at(place(2)) + at(place(3)), 2000);
        assert!((400..1000).contains(&at(place(3))), "{}", at(place(3)));
    }
}
