//! Events that one side has more of: what is not common to all runs.

use crate::compare::Measured;
use crate::deterministic::InRun;
use crate::estimate::{Estimate, probability_of_chance};
use std::collections::{BTreeMap, BTreeSet};
use timewise_profile::OsEventKind;

/// How many of what such events were about are named.
const MOST_OBJECTS: usize = 3;

/// Events of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Differing {
    /// What kind of event.
    pub kind: OsEventKind,
    /// Their name; empty for kinds that have none.
    pub name: Vec<u8>,
    /// How many beside those that all runs have, in an average run.
    pub events: Measured,
    /// What these took, nanoseconds.
    pub call_ns: Measured,
    /// Some of what they were about.
    pub objects: Vec<Vec<u8>>,
    /// How many different things they were about.
    pub objects_in_all: usize,
}

/// What of one name one run has.
#[derive(Clone, Copy, Default)]
struct Share {
    events: u64,
    call_ns: u64,
}

#[derive(Default)]
struct Row<'a> {
    runs: BTreeMap<usize, Share>,
    objects: BTreeSet<&'a [u8]>,
}

/// Names of which there are not as many on both sides, by what they take; runs of BASE come first.
pub fn differing(runs: &[InRun], places: &[Vec<usize>], base_runs: usize) -> Vec<Differing> {
    let mut rows: BTreeMap<(OsEventKind, &[u8]), Row> = BTreeMap::new();
    for (number, (run, common)) in runs.iter().zip(places).enumerate() {
        let mut common = common.iter().peekable();
        for (place, event) in run.lane.events.iter().enumerate() {
            if common.next_if_eq(&&place).is_some() {
                continue;
            }
            let name = event.name.map_or(&[][..], |name| run.name(name));
            let row = rows.entry((event.kind, name)).or_default();
            row.objects.extend(run.object(event));
            let share = row.runs.entry(number).or_default();
            share.events += 1;
            share.call_ns += event.took_ns();
        }
    }
    let test_runs = runs.len() - base_runs;
    let row = |((kind, name), row): ((OsEventKind, &[u8]), Row)| {
        let measured = |amount: fn(&Share) -> u64| {
            let of = |number: usize| row.runs.get(&number).map_or(0, amount) as f64;
            let of_side = |from: usize, to: usize| Estimate::of(&(from..to).map(of).collect::<Vec<f64>>());
            let (base, test) =
                (of_side(0, base_runs), (test_runs > 0).then(|| of_side(base_runs, runs.len())));
            Measured { base, test, chance: test.and_then(|test| probability_of_chance(base, test)) }
        };
        Differing {
            kind,
            name: name.to_vec(),
            events: measured(|share| share.events),
            call_ns: measured(|share| share.call_ns),
            objects: row.objects.iter().take(MOST_OBJECTS).map(|object| object.to_vec()).collect(),
            objects_in_all: row.objects.len(),
        }
    };
    let mut rows: Vec<Differing> = rows.into_iter().map(row).filter(differs).collect();
    let more = |row: &Differing| row.call_ns.difference().map_or(0.0, |difference| difference.amount.abs());
    rows.sort_by(|a, b| more(b).total_cmp(&more(a)));
    rows
}

fn differs(row: &Differing) -> bool {
    row.events.difference().is_some_and(|difference| difference.amount != 0.0)
}
