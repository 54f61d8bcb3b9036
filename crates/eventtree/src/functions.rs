//! Which functions time passed in, by the call stacks at events (CQ, section 0.3.3).
//!
//! What a system call takes passes below all functions of its stack. What passes from its end to the next event passes below
//! those that were on the stack all the while, as far as code tells ([`Chains::common`]). Stacks that are the same say by
//! themselves only that somebody called the same way again.

use crate::chains::{Chains, CodeOf, FunctionKey, FunctionNames, Link};
use crate::compare::Measured;
use crate::estimate::Estimate;
use std::collections::{BTreeMap, HashMap, HashSet};
use timewise_profile::{OsEvent, Profile, RunKind, ThreadId};

/// What passed while a function was on the stack, all of an average run.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionTime {
    /// Its name; that of the module in brackets where nothing else is known.
    pub name: String,
    /// Elapsed time, nanoseconds.
    pub elapsed_ns: Measured,
    /// Of that, in system calls.
    pub call_ns: Measured,
    /// Events below it.
    pub events: Measured,
    /// Whether it was only there as part of the library through which calls went to the system.
    pub is_of_library: bool,
    /// How many functions were on the stack above it, at most.
    depth: usize,
}

/// What passed while a function was on the stack, in one run.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    elapsed_ns: u64,
    call_ns: u64,
    events: u64,
}

/// The functions of some stretches of time.
#[derive(Debug, Default)]
struct Shares {
    of: HashMap<FunctionKey, Share>,
    /// Of each function how deep it was, and whether it was ever more than the way into the system.
    seen: HashMap<FunctionKey, (usize, bool)>,
    /// Functions that were met on the stack at hand.
    met: HashSet<FunctionKey>,
}

impl Shares {
    /// Adds what passed from each event to the next; the last of them ends the stretch.
    fn add(&mut self, chains: &mut Chains, events: &[&OsEvent], known: &mut FunctionNames) {
        for pair in events.windows(2) {
            let [event, next] = pair else { continue };
            let call_ns = event.took_ns().min(next.begin_ns.saturating_sub(event.begin_ns));
            let beside_ns = next.begin_ns.saturating_sub(event.begin_ns) - call_ns;
            let Some(stack) = event.stack else { continue };
            let chain = chains.chain(stack, known);
            self.pass(&chain, Share { elapsed_ns: call_ns, call_ns, events: 1 });
            if let Some(then) = next.stack {
                let common = chains.common(stack, then, known);
                self.pass(&common, Share { elapsed_ns: beside_ns, ..Share::default() });
            }
        }
    }

    /// Time passed below these functions; one that stands there several times is told once.
    fn pass(&mut self, chain: &[Link], share: Share) {
        self.met.clear();
        for (depth, link) in chain.iter().enumerate() {
            let seen = self.seen.entry(link.function).or_default();
            *seen = (seen.0.max(depth), seen.1 || !link.is_of_library);
            if !self.met.insert(link.function) {
                continue;
            }
            let sum = self.of.entry(link.function).or_default();
            // A damaged file may tell of any times.
            sum.elapsed_ns = sum.elapsed_ns.saturating_add(share.elapsed_ns);
            sum.call_ns = sum.call_ns.saturating_add(share.call_ns);
            sum.events += share.events;
        }
    }
}

/// Events of one run, in order, with the profile that has them.
pub struct Stretch<'a, 'b> {
    /// Whose stacks they have.
    pub of_test: bool,
    /// The last one ends it.
    pub events: &'b [&'a OsEvent],
}

/// The functions of both sides' stacks, found when they are first asked for.
pub struct Functions<'a> {
    base: Chains<'a>,
    test: Option<Chains<'a>>,
    known: FunctionNames,
}

impl<'a> Functions<'a> {
    /// Those of two profiles, or of one.
    pub fn of(base: &'a Profile, test: Option<&'a Profile>, code: CodeOf<'a>) -> Functions<'a> {
        Functions {
            base: Chains::of(base, code),
            test: test.map(|test| Chains::of(test, code)),
            known: FunctionNames::default(),
        }
    }

    /// Who made calls themselves, or by way of the library through which calls go to the system, of one side; who made most
    /// first.
    pub fn callers(&mut self, of_test: bool, events: &[&OsEvent]) -> Vec<String> {
        let chains = match &mut self.test {
            Some(test) if of_test => test,
            _ => &mut self.base,
        };
        let mut made: BTreeMap<FunctionKey, u64> = BTreeMap::new();
        for event in events {
            let caller = caller(chains, event, &mut self.known);
            caller.into_iter().for_each(|caller| *made.entry(caller).or_default() += 1);
        }
        let mut made: Vec<(FunctionKey, u64)> = made.into_iter().collect();
        made.sort_by_key(|&(_, calls)| std::cmp::Reverse(calls));
        made.into_iter().map(|(function, _)| self.known.name(function).to_string()).collect()
    }

    /// What passed below each function in one stretch of every run, those of BASE first; what takes most first.
    pub fn times(&mut self, stretches: &[Stretch<'a, '_>]) -> Vec<FunctionTime> {
        let mut runs: Vec<Shares> = Vec::with_capacity(stretches.len());
        for stretch in stretches {
            let chains = match &mut self.test {
                Some(test) if stretch.of_test => test,
                _ => &mut self.base,
            };
            let mut shares = Shares::default();
            shares.add(chains, stretch.events, &mut self.known);
            runs.push(shares);
        }
        let base_runs = stretches.iter().filter(|stretch| !stretch.of_test).count();
        let mut seen: BTreeMap<FunctionKey, (usize, bool)> = BTreeMap::new();
        for (&function, &(depth, beyond)) in runs.iter().flat_map(|shares| &shares.seen) {
            let all = seen.entry(function).or_default();
            *all = (all.0.max(depth), all.1 || beyond);
        }
        let time = |(function, (depth, beyond)): (FunctionKey, (usize, bool))| {
            let measured = |amount: fn(&Share) -> u64| {
                let of_run = |shares: &Shares| shares.of.get(&function).map_or(0, amount) as f64;
                let amounts: Vec<f64> = runs.iter().map(of_run).collect();
                let (base, test) = amounts.split_at(base_runs);
                let test = (!test.is_empty()).then(|| Estimate::of(test));
                Measured { base: Estimate::of(base), test, chance: None }
            };
            FunctionTime {
                name: self.known.name(function).to_string(),
                elapsed_ns: measured(|share| share.elapsed_ns),
                call_ns: measured(|share| share.call_ns),
                events: measured(|share| share.events),
                is_of_library: !beyond,
                depth,
            }
        };
        let mut times: Vec<FunctionTime> = seen.into_iter().map(time).collect();
        times.sort_by(|a, b| takes(b).total_cmp(&takes(a)).then(a.depth.cmp(&b.depth)));
        times
    }
}

/// On both sides together.
fn takes(time: &FunctionTime) -> f64 {
    time.elapsed_ns.base.mean + time.elapsed_ns.test.map_or(0.0, |test| test.mean)
}

/// How much of a difference must have passed below a function that is named for it.
const MOSTLY: f64 = 0.75;

/// Where most of a stretch's time passed, or most of what it differs by: the innermost function that was on the stack
/// meanwhile, of those that are more than the way into the system if there is one.
pub fn mostly_in<'t>(times: &'t [FunctionTime], elapsed_ns: &Measured) -> Option<&'t FunctionTime> {
    let amount = |measured: &Measured| match measured.difference() {
        Some(difference) => difference.amount,
        None => measured.base.mean,
    };
    let whole = amount(elapsed_ns);
    let holds = |time: &&FunctionTime| whole != 0.0 && amount(&time.elapsed_ns) / whole >= MOSTLY;
    let innermost = |times: &mut dyn Iterator<Item = &'t FunctionTime>| {
        times.filter(holds).min_by(|a, b| takes(a).total_cmp(&takes(b)).then(b.depth.cmp(&a.depth)))
    };
    innermost(&mut times.iter().filter(|time| !time.is_of_library)).or_else(|| innermost(&mut times.iter()))
}

/// What the calls of a function took, of all runs and threads together.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionRow {
    /// Its name; that of the module in brackets where nothing else is known.
    pub name: String,
    /// System calls that it made itself, or by way of the library through which calls go to the system.
    pub calls: u64,
    /// What these took, nanoseconds.
    pub call_ns: u64,
    /// What passed while it was on the stack, nanoseconds.
    pub total_ns: u64,
    /// Of that, in system calls.
    pub total_call_ns: u64,
}

/// A row for each function on a stack, by what its own calls took.
pub fn functions<'a>(profile: &'a Profile, code: CodeOf<'a>) -> Vec<FunctionRow> {
    let (mut known, mut chains) = (FunctionNames::default(), Chains::of(profile, code));
    let mut threads: BTreeMap<ThreadId, Vec<&OsEvent>> = BTreeMap::new();
    let mut own: HashMap<FunctionKey, Share> = HashMap::new();
    for event in &profile.os_events {
        threads.entry(event.thread).or_default().push(event);
        let Some(caller) = caller(&mut chains, event, &mut known) else { continue };
        let sum = own.entry(caller).or_default();
        sum.call_ns = sum.call_ns.saturating_add(event.took_ns());
        sum.events += 1;
    }
    let mut shares = Shares::default();
    threads.values().for_each(|events| shares.add(&mut chains, events, &mut known));
    // Of a thread's last call it is not seen how long it took.
    own.keys().for_each(|&caller| _ = shares.of.entry(caller).or_default());
    let row = |(function, share): (FunctionKey, Share)| {
        let own = own.get(&function).copied().unwrap_or_default();
        FunctionRow {
            name: known.name(function).to_string(),
            calls: own.events,
            call_ns: own.call_ns,
            total_ns: share.elapsed_ns,
            total_call_ns: share.call_ns,
        }
    };
    let mut rows: Vec<FunctionRow> = shares.of.into_iter().map(row).collect();
    rows.sort_by(|a, b| {
        (b.call_ns, b.total_ns).cmp(&(a.call_ns, a.total_ns)).then_with(|| a.name.cmp(&b.name))
    });
    rows
}

/// The function that made a call itself, or by way of the library through which calls go to the system.
fn caller(chains: &mut Chains, event: &OsEvent, known: &mut FunctionNames) -> Option<FunctionKey> {
    let chain = chains.chain(event.stack.filter(|_| event.is_call())?, known);
    let own = chain.iter().rev().find(|link| !link.is_of_library);
    own.or(chain.last()).map(|link| link.function)
}

/// Whether call stacks were taken.
pub fn has_stacks(profile: &Profile) -> bool {
    profile.runs_of(RunKind::Events).any(|run| run.call_stacks.is_some())
}
