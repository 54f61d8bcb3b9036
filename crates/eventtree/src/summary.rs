//! What system calls take, by name.

use std::collections::BTreeMap;
use timewise_profile::{Profile, RunKind};

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
    for event in profile.os_events.iter().filter(|event| event.is_call()) {
        let Some(name) = event.name.map(|name| profile.os_name(name)) else { continue };
        let row = rows.entry(name).or_default();
        let took_ns = event.took_ns();
        row.calls += 1;
        row.errors += u64::from(event.has_failed());
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
