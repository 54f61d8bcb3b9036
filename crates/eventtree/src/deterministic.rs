//! Deterministic events: those that stand in the same order in all runs.

use crate::lanes::{Lane, file_name};
use imara_diff::{Algorithm, Diff, Token};
use std::collections::{HashMap, HashSet};
use timewise_profile::{NameId, OsEvent, OsEventKind, Profile};

/// A thread in one of the runs that are compared.
#[derive(Clone, Copy)]
pub struct InRun<'a, 'b> {
    /// The profile that has the run.
    pub profile: &'a Profile,
    /// Its events there.
    pub lane: &'b Lane<'a>,
}

impl<'a> InRun<'a, '_> {
    /// A name of its profile.
    pub fn name(&self, id: NameId) -> &'a [u8] {
        self.profile.os_name(id)
    }

    /// What an event was about, as far as it is the same wherever a build lies.
    pub fn object(&self, event: &OsEvent) -> Option<&'a [u8]> {
        let object = self.name(event.object?);
        Some(match event.kind {
            OsEventKind::Exec | OsEventKind::Image => file_name(object),
            _ => object,
        })
    }

    fn objects(&self) -> HashSet<&'a [u8]> {
        self.lane.events.iter().filter_map(|event| self.object(event)).collect()
    }

    fn key(&self, event: &OsEvent, everywhere: &HashSet<&[u8]>) -> Key<'a> {
        Key {
            kind: event.kind,
            name: event.name.map(|name| self.name(name)),
            object: self.object(event).filter(|object| everywhere.contains(object)),
            failed: event.has_failed(),
        }
    }
}

/// An event, as far as it is the same in another run.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key<'a> {
    kind: OsEventKind,
    name: Option<&'a [u8]>,
    object: Option<&'a [u8]>,
    failed: bool,
}

/// For each run of a thread, which of its events are common to all runs, in order; all lists have the same length. Runs of
/// BASE come first, so many.
///
/// What an event was about belongs to it only if the thread had to do with that in every run: names of temporary files
/// differ from run to run.
pub fn common(runs: &[InRun], base_runs: usize) -> Vec<Vec<usize>> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let mut everywhere = first.objects();
    for run in others {
        let objects = run.objects();
        everywhere.retain(|object| objects.contains(object));
    }
    let mut known: HashMap<Key, u32> = HashMap::new();
    let mut token = |key| {
        let next = known.len() as u32;
        Token(*known.entry(key).or_insert(next))
    };
    let mut sequences: Vec<Vec<Token>> = Vec::with_capacity(runs.len());
    for run in runs {
        sequences.push(run.lane.events.iter().map(|event| token(run.key(event, &everywhere))).collect());
    }
    let tokens = known.len() as u32;
    // Of both sides in turn: what is kept fits those runs best that it was compared with last.
    let mut in_turn: Vec<usize> = (0..runs.len()).collect();
    in_turn.sort_by_key(|&run| if run < base_runs { run } else { run - base_runs });
    let mut kept = sequences[in_turn[0]].clone();
    for &run in &in_turn[1..] {
        kept = in_common(&kept, &sequences[run], tokens);
    }
    // Only now, and in each run by the same rule: where an event is looked for does not depend on which run came first.
    sequences.iter().map(|sequence| places(&kept, sequence)).collect()
}

/// The tokens that two sequences have in common, in order.
fn in_common(ours: &[Token], theirs: &[Token], tokens: u32) -> Vec<Token> {
    let mut diff = Diff::default();
    diff.compute_with(Algorithm::Myers, ours, theirs, tokens);
    (0..ours.len()).filter(|&at| !diff.is_removed(at as u32)).map(|at| ours[at]).collect()
}

/// Where the tokens of `kept` stand in a sequence that has them all in order: each as early as it can be.
fn places(kept: &[Token], sequence: &[Token]) -> Vec<usize> {
    let mut kept = kept.iter().peekable();
    let is_next = |&at: &usize| kept.next_if_eq(&&sequence[at]).is_some();
    (0..sequence.len()).filter(is_next).collect()
}
