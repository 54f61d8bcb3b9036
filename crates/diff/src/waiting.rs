//! Where threads waited in BASE and in TEST, which no CPU time shows: a lock that is held for longer, a slower disk.
//!
//! Waits are paired by what waited and what called it, functions as in all else. Of callers that only one side has it is not
//! known which became which: one that is inlined now has its caller's name. How long waits are is measured, not sampled:
//! what is noise is how much runs differ by themselves. Several runs on a side tell it, row by row. One run tells only how long
//! single waits are, of which a few more or less are chance; with one on each side more than that is assumed.

use crate::change::{Difference, difference};
use crate::comparison::{Comparison, levels};
use crate::limits::Spread;
use crate::noise::{InRun, Noise, spreads};
use crate::pairing::Both;
use crate::sums::Sum;
use crate::waiters::{Code, Waiter, Waiters};
use std::collections::{BTreeMap, HashMap, HashSet};
use timewise_flow::Analysis;
use timewise_flow::waiting::{self, Culprit, Programs, culprit, frames, run_of};
use timewise_profile::{Profile, Run, RunKind, Wait};

/// Standard deviation of how long threads wait in one place between runs, as a share of it, beyond that of the number of
/// waits, where it could not be measured. Waits for a lock or for a queue follow from who comes first: those of equal runs
/// beside others' work were seen to differ by four times where they were 2 % of the time.
const ASSUMED: f64 = 0.5;

const UNKNOWN: Spread = Spread { variance: ASSUMED * ASSUMED, freedom: f64::INFINITY };

/// A change that is certain to be less than this share of the time of all BASE's threads is no finding.
const WORTH_FINDING: f64 = 0.01;

/// Where it was not counted how often a thread waited, it was looked at no more often than this, nanoseconds.
const LOOKS_NS: f64 = 20e6;

/// What waited in one function for one caller, all threads together, in an average run. Callers that only one side has are
/// one, if each side has some.
#[derive(Clone, PartialEq, Debug)]
pub struct WaitingRow {
    /// Where it waited longest of all places; `None` outside all known code.
    pub place: Both<Option<Culprit>>,
    /// In BASE.
    pub base: Waited,
    /// In TEST.
    pub test: Waited,
    /// Change of how long, nanoseconds.
    pub change: Difference,
    /// Whether it is more than noise, and large enough to be told.
    pub is_finding: bool,
}

/// How long and how often threads waited.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Waited {
    /// Nanoseconds.
    pub duration_ns: f64,
    /// How often; `None` where it was not counted, and how long is an estimate.
    pub times: Option<f64>,
}

impl Comparison<'_> {
    /// Whether both sides tell where their threads waited: what was sampled by another profiler does not.
    pub fn knows_waiting(&self) -> bool {
        [self.base, self.test].into_iter().all(knows_waiting)
    }

    /// All waiting, findings first, what is certain to have changed most before the others; none unless it is known.
    pub fn waiting(&self) -> Vec<WaitingRow> {
        if !self.knows_waiting() {
            return Vec::new();
        }
        let waiters = Waiters::new(self);
        let [ours, theirs] = [self.base.profile, self.test.profile];
        let have_callers = has_callers(ours) && has_callers(theirs);
        let mut base = Side::new(ours, have_callers, |found| waiters.in_base(found));
        let mut test = Side::new(theirs, have_callers, |found| waiters.in_test(found));
        join_lone(&mut base, &mut test);
        let mut keys: Vec<Key> = base.rows.keys().chain(test.rows.keys()).cloned().collect();
        keys.sort();
        keys.dedup();
        let spreads = match self.noise {
            Noise::Measured(_) => spreads(&base.in_runs(&keys), &test.in_runs(&keys), keys.len()),
            Noise::Unknown => vec![UNKNOWN; keys.len()],
        };
        let least = WORTH_FINDING * waiting::threads_time_ns(self.base);
        let is_tested = |key: &&Key| base.total(key).max(test.total(key)) >= least;
        let levels = levels(keys.iter().filter(is_tested).count(), &spreads, &[]);
        let row = |(key, spread): (Key, _)| {
            let one_wait = base.one_wait(&key).max(test.one_wait(&key));
            let [old, new] = [&base, &test].map(|side| match side.runs {
                1 => side.sum(&key, one_wait),
                _ => Sum::known(side.total(&key)),
            });
            let terms = self.runs().time(old, new);
            let [(base_place, base), (test_place, test)] = [&mut base, &mut test].map(|side| side.take(&key));
            let change = difference(&terms, spread, &[], &levels);
            let is_finding = change.certain.abs() >= least && least > 0.0;
            WaitingRow { place: Both { base: base_place, test: test_place }, base, test, change, is_finding }
        };
        let mut rows: Vec<WaitingRow> = keys.into_iter().zip(spreads).map(row).collect();
        let order = |row: &WaitingRow| {
            let by = if row.is_finding { row.change.certain } else { row.change.estimate().value };
            (row.is_finding, by.abs())
        };
        rows.sort_by(|a, b| order(b).partial_cmp(&order(a)).unwrap_or(std::cmp::Ordering::Equal));
        rows
    }
}

/// Whether a side tells where its threads waited.
pub fn knows_waiting(analysis: &Analysis) -> bool {
    let mut runs = analysis.profile.runs_of(RunKind::Sampling).peekable();
    runs.peek().is_some() && !runs.any(Run::is_imported)
}

/// Whether callers are known of what waited; nothing else is, if none were asked for.
fn has_callers(profile: &Profile) -> bool {
    profile.waits.is_empty() || profile.waits.iter().any(|wait| wait.stack.is_some())
}

/// What waited; `None` outside all known code.
type Key = Option<Waiter>;

/// Makes one row of all waits in a function whose callers only one side has, if each side has some.
fn join_lone(base: &mut Side, test: &mut Side) {
    let lone = |side: &Side, other: &Side| {
        let keys = side.rows.keys().flatten().filter(|key| !other.rows.contains_key(&Some((*key).clone())));
        keys.cloned().collect::<Vec<Waiter>>()
    };
    let (ours, theirs) = (lone(base, test), lone(test, base));
    let heads: HashMap<Code, Waiter> =
        ours.iter().rev().map(|key| (key.callee.clone(), key.clone())).collect();
    let are_met: HashSet<Code> = theirs.iter().map(|key| key.callee.clone()).collect();
    for (side, keys) in [(base, ours), (test, theirs)] {
        for key in keys.into_iter().filter(|key| are_met.contains(&key.callee)) {
            if let Some(head) = heads.get(&key.callee) {
                side.rename(Some(key), Some(head.clone()));
            }
        }
    }
}

/// The waiting of one side.
struct Side {
    /// Of each sampled run its number among these.
    numbers: Vec<Option<usize>>,
    runs: usize,
    rows: BTreeMap<Key, Alike>,
}

/// All waits of one key.
struct Alike {
    /// Nanoseconds in each sampled run.
    of_runs: Vec<f64>,
    times: Option<u64>,
    /// Sum of the squares of all waits, as far as their number tells these apart.
    squares: f64,
    /// For how long at each place.
    places: HashMap<Culprit, u64>,
}

impl Alike {
    /// None in so many runs.
    fn nothing(runs: usize) -> Alike {
        Alike { of_runs: vec![0.0; runs], times: Some(0), squares: 0.0, places: HashMap::new() }
    }

    fn join(&mut self, other: Alike) {
        self.of_runs.iter_mut().zip(other.of_runs).for_each(|(sum, more)| *sum += more);
        self.times = self.times.zip(other.times).map(|(one, more)| one.saturating_add(more));
        self.squares += other.squares;
        // Keys share no place.
        self.places.extend(other.places);
    }
}

impl Side {
    /// Without callers the innermost function is what waits.
    fn new(profile: &Profile, have_callers: bool, waiter: impl Fn(Culprit) -> Waiter) -> Side {
        let mut runs = 0;
        let number = |run: &Run| {
            (run.kind == RunKind::Sampling).then(|| {
                runs += 1;
                runs - 1
            })
        };
        let numbers: Vec<Option<usize>> = profile.runs.iter().map(number).collect();
        let mut side = Side { numbers, runs, rows: BTreeMap::new() };
        let programs = Programs::of(profile);
        let find = |wait: &Wait| {
            let stack = wait.stack.filter(|_| have_callers);
            let found = culprit(profile, &programs, &frames(profile, wait.place, stack));
            (found, found.map(&waiter))
        };
        let mut known: HashMap<_, (Option<Culprit>, Key)> = HashMap::new();
        for wait in &profile.waits {
            let Some(run) = side.numbers[run_of(profile, wait.thread).index()] else { continue };
            let (found, key) = known.entry((wait.place, wait.stack)).or_insert_with(|| find(wait));
            let alike = side.rows.entry(key.clone()).or_insert_with(|| Alike::nothing(runs));
            let duration_ns = wait.duration_ns as f64;
            alike.of_runs[run] += duration_ns;
            let waits = wait.times.map_or(duration_ns / LOOKS_NS, |times| times as f64);
            alike.squares += duration_ns.powi(2) / waits.max(1.0);
            alike.times = alike.times.zip(wait.times).map(|(one, more)| one.saturating_add(more));
            if let Some(found) = *found {
                let at_place = alike.places.entry(found).or_default();
                *at_place = at_place.saturating_add(wait.duration_ns);
            }
        }
        side
    }

    /// Takes waits of one key for those of another.
    fn rename(&mut self, key: Key, other: Key) {
        if let Some(alike) = self.rows.remove(&key) {
            self.rows.entry(other).or_insert_with(|| Alike::nothing(self.runs)).join(alike);
        }
    }

    fn in_runs(&self, keys: &[Key]) -> Vec<Vec<InRun>> {
        let amount = |key, run: usize| self.rows.get(key).map_or(0.0, |alike| alike.of_runs[run]);
        let of = |run| keys.iter().map(|key| InRun { amount: amount(key, run), variance: 0.0 }).collect();
        (0..self.runs).map(of).collect()
    }

    /// Nanoseconds in an average run.
    fn total(&self, key: &Key) -> f64 {
        self.rows.get(key).map_or(0.0, |alike| alike.of_runs.iter().sum::<f64>() / self.runs as f64)
    }

    /// How long in an average run, as a sum of so many single waits that come by chance.
    fn sum(&self, key: &Key, unseen: f64) -> Sum {
        let squares = self.rows.get(key).map_or(0.0, |alike| alike.squares / (self.runs as f64).powi(2));
        Sum { amount: self.total(key), squares, unseen, ..Sum::default() }
    }

    /// How long a single wait is, as far as their number tells; 0 if there was none.
    fn one_wait(&self, key: &Key) -> f64 {
        let total = self.total(key) * self.runs as f64;
        self.rows.get(key).filter(|_| total > 0.0).map_or(0.0, |alike| alike.squares / total)
    }

    /// Where and how long it waited; nowhere if this side did not.
    fn take(&mut self, key: &Key) -> (Option<Option<Culprit>>, Waited) {
        let duration_ns = self.total(key);
        let Some(Alike { times, places, .. }) = self.rows.remove(key) else {
            return (None, Waited { duration_ns, times: Some(0.0) });
        };
        let longest = places.into_iter().max_by_key(|(found, ns)| (*ns, found.place)).map(|(found, _)| found);
        (Some(longest), Waited { duration_ns, times: times.map(|times| times as f64 / self.runs as f64) })
    }
}
