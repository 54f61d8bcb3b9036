//! Rows of call stacks that lead to the kernel: to wait, or to have it do something.

use crate::labels;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use timewise_flow::names::Names;
use timewise_flow::waiting::Culprit;
use timewise_profile::{Place, Profile};

/// What is a smaller share than this is not worth a table on the first screen.
pub const WORTH_SHOWING: f64 = 0.05;

/// A call stack: what a reader looks for in it, what is told of it, and the whole.
#[derive(Clone, Default, Debug, Serialize)]
pub struct Stacked<F> {
    /// What stands out.
    #[serde(flatten)]
    pub ends: Ends,
    /// What is told of it.
    #[serde(flatten)]
    pub fields: F,
    /// All of it.
    #[serde(flatten)]
    pub whole: Whole,
}

/// The function that called the kernel, or was called for it, and who called that.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Ends {
    /// Path of the module that holds it; empty if its place is unknown.
    pub module: String,
    /// The function.
    pub function: String,
    /// The function that called it; null if there is none.
    pub caller: Option<String>,
    /// Source file of that call, if known.
    pub file: Option<String>,
    /// Its line.
    pub line: Option<u32>,
}

/// The stack in words.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Whole {
    /// All functions, innermost first; as one text, between semicolons.
    #[serde(serialize_with = "between_semicolons")]
    pub stack: Vec<String>,
}

fn between_semicolons<S: Serializer>(stack: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&stack.join(";"))
}

/// What adds up where stacks look alike.
pub trait Joined {
    /// Takes over what another stack has.
    fn join(&mut self, other: Self);
    /// By which rows are sorted, the largest first.
    fn size(&self) -> f64;
}

impl<F: Joined> Stacked<F> {
    /// The row of a stack, innermost frame first, of which the culprit is known.
    pub fn new(
        profile: &Profile,
        names: &Names,
        (frames, culprit): (&[Place], Option<Culprit>),
        fields: F,
    ) -> Stacked<F> {
        let stack = frames.iter().map(|&frame| names.of_place(frame)).collect();
        Stacked { ends: Ends::new(profile, names, culprit), fields, whole: Whole { stack } }
    }

    /// The row as a sequence, which is how a table without nesting takes its parts.
    pub fn into_parts(self) -> (Ends, F, Whole) {
        (self.ends, self.fields, self.whole)
    }

    /// What it is called where only what stands out is told.
    pub fn title(&self) -> String {
        self.ends.title()
    }
}

impl Ends {
    /// What stands out of a stack of which the culprit is known.
    pub fn new(profile: &Profile, names: &Names, culprit: Option<Culprit>) -> Ends {
        let line = culprit.and_then(|culprit| culprit.line);
        Ends {
            module: culprit.map_or(String::new(), |found| labels::module_path(profile, found.place.module)),
            function: culprit.map_or("in an unknown place".into(), |found| names.of_place(found.place)),
            caller: culprit.and_then(|found| found.caller).map(|caller| names.of_place(caller)),
            file: line.map(|line| labels::file_path(profile, line.file).to_string()),
            line: line.map(|line| line.line),
        }
    }

    /// The function and its caller with the line of the call, as `pthread_mutex_lock < worker main.c:12`.
    pub fn title(&self) -> String {
        let Ends { function, caller, file, line, .. } = self;
        let caller = caller.as_ref().map_or(String::new(), |caller| format!(" < {caller}"));
        let line = match (file, line) {
            (Some(file), Some(line)) => format!(" {}:{line}", labels::file_name(file)),
            _ => String::new(),
        };
        format!("{function}{caller}{line}")
    }
}

/// Rows of all stacks, as far as functions and the line of the call tell them apart, the largest first.
pub fn all<F: Joined>(rows: impl Iterator<Item = Stacked<F>>) -> Vec<Stacked<F>> {
    merged(rows, |row| (row.ends.clone(), row.whole.clone()))
}

/// Those of which only the innermost end is told apart, as tables show it.
pub fn titled<F: Joined>(rows: Vec<Stacked<F>>) -> Vec<Stacked<F>> {
    merged(rows.into_iter(), Stacked::title)
}

/// One row for all that look alike.
fn merged<F: Joined, K: Ord>(
    rows: impl Iterator<Item = Stacked<F>>,
    look: impl Fn(&Stacked<F>) -> K,
) -> Vec<Stacked<F>> {
    let mut merged: BTreeMap<K, Stacked<F>> = BTreeMap::new();
    for row in rows {
        match merged.entry(look(&row)) {
            Entry::Occupied(mut alike) => alike.get_mut().fields.join(row.fields),
            Entry::Vacant(new) => drop(new.insert(row)),
        }
    }
    let mut rows: Vec<Stacked<F>> = merged.into_values().collect();
    rows.sort_by(|a, b| b.fields.size().total_cmp(&a.fields.size()));
    rows
}
