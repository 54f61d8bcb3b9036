//! Rows of call stacks that threads waited with.

use super::ends::{self, Ends};
use super::names::Names;
use super::{compact, compact_option};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use timewise_flow::Analysis;
use timewise_flow::waiting::{self, Threads, WaitingStack};
use timewise_profile::Profile;

/// A call stack that threads waited with.
#[derive(Clone, Default, Debug, Serialize)]
pub struct WaitingRow {
    /// Path of the module that holds what waits; empty outside all known code.
    pub module: String,
    /// The function that was called in order to wait, or that called the kernel itself.
    pub function: String,
    /// The function that called it, in other code; null if there is none.
    pub caller: Option<String>,
    /// Source file of that call, if known.
    pub file: Option<String>,
    /// Its line.
    pub line: Option<u32>,
    /// Threads that waited so.
    #[serde(serialize_with = "number")]
    pub threads: Threads,
    /// How often they did; null if they were only looked at from time to time.
    #[serde(serialize_with = "compact_option")]
    pub times: Option<f64>,
    /// How long, all of them and all times together.
    #[serde(serialize_with = "compact")]
    pub duration_ns: f64,
    /// All functions of the stack, innermost first, between semicolons.
    pub stack: String,
}

impl WaitingRow {
    /// As tables call it.
    pub fn title(&self) -> String {
        ends::title(&self.function, self.caller.as_deref(), (self.file.as_deref(), self.line))
    }

    /// Takes over what waited otherwise, but looks alike.
    fn join(&mut self, other: WaitingRow) {
        self.threads.join(other.threads);
        self.times = self.times.zip(other.times).map(|(one, more)| one + more);
        self.duration_ns += other.duration_ns;
    }
}

/// All stacks that threads waited with, as far as functions and the line of the call tell them apart; longest first.
pub fn waits(analysis: &Analysis) -> Vec<WaitingRow> {
    let profile = analysis.profile;
    let names = Names::of(profile);
    let rows = waiting::stacks(profile).into_iter().map(|stack| row(profile, &names, stack));
    merged(rows, |row| (row.module.clone(), row.title(), row.file.clone(), row.stack.clone()))
}

/// Those of which only the innermost end is told apart, as tables show it.
pub fn titled_waits(analysis: &Analysis) -> Vec<WaitingRow> {
    merged(waits(analysis), WaitingRow::title)
}

/// One row for all that look alike.
fn merged<K: Ord>(
    rows: impl IntoIterator<Item = WaitingRow>,
    look: impl Fn(&WaitingRow) -> K,
) -> Vec<WaitingRow> {
    let mut merged: BTreeMap<K, WaitingRow> = BTreeMap::new();
    for row in rows {
        match merged.entry(look(&row)) {
            Entry::Occupied(mut alike) => alike.get_mut().join(row),
            Entry::Vacant(new) => drop(new.insert(row)),
        }
    }
    let mut rows: Vec<WaitingRow> = merged.into_values().collect();
    rows.sort_by(|a, b| b.duration_ns.total_cmp(&a.duration_ns));
    rows
}

fn number<S: Serializer>(threads: &Threads, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(threads.count() as u64)
}

fn row(profile: &Profile, names: &Names, stack: WaitingStack) -> WaitingRow {
    let WaitingStack { frames, threads, times, duration_ns } = stack;
    let Ends { module, function, caller, file, line, stack } =
        Ends::of(profile, names, &frames, waiting::culprit(profile, &frames));
    WaitingRow { module, function, caller, file, line, threads, times, duration_ns, stack }
}
