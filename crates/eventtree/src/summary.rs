//! What system calls take, by name.

use std::collections::BTreeMap;
use timewise_profile::{OsEventKind, Profile, RunKind};

/// The system calls of one name, of all runs and threads together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallRow {
    /// The name.
    pub name: Vec<u8>,
    /// How many.
    pub calls: u64,
    /// How many of them failed.
    pub errors: u64,
    /// From their beginnings to their ends, nanoseconds.
    pub total_ns: u64,
    /// The longest, nanoseconds.
    pub longest_ns: u64,
}

/// A row for each name, by what they took.
pub fn calls(profile: &Profile) -> Vec<CallRow> {
    let mut rows: BTreeMap<&[u8], CallRow> = BTreeMap::new();
    let are_calls = [OsEventKind::Call, OsEventKind::Exec, OsEventKind::Image];
    for event in profile.os_events.iter().filter(|event| are_calls.contains(&event.kind)) {
        let Some(name) = event.name.map(|name| profile.os_names[name.index()].as_slice()) else { continue };
        let row = rows.entry(name).or_default();
        let took_ns = event.end_ns.map_or(0, |end| end - event.begin_ns);
        row.calls += 1;
        row.errors += u64::from(event.result.is_some_and(|result| result < 0));
        row.total_ns += took_ns;
        row.longest_ns = row.longest_ns.max(took_ns);
    }
    let mut rows: Vec<CallRow> =
        rows.into_iter().map(|(name, row)| CallRow { name: name.to_vec(), ..row }).collect();
    rows.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    rows
}

/// How many runs these are of.
pub fn runs(profile: &Profile) -> usize {
    profile.runs_of(RunKind::Events).count()
}
