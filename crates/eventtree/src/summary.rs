//! What system calls take, by name.

use std::collections::BTreeMap;
use timewise_profile::{OsEvent, OsEventKind, Profile, RunKind};

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
    for event in profile.os_events.iter().filter(|event| is_call(event)) {
        let Some(name) = name_of(profile, event) else { continue };
        let row = rows.entry(name).or_default();
        let took_ns = event.end_ns.map_or(0, |end| end - event.begin_ns);
        row.calls += 1;
        row.errors += u64::from(has_failed(event));
        row.total_ns += took_ns;
        row.longest_ns = row.longest_ns.max(took_ns);
    }
    let mut rows: Vec<CallRow> =
        rows.into_iter().map(|(name, row)| CallRow { name: name.to_vec(), ..row }).collect();
    rows.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    rows
}

/// Whether it is a system call, of whatever purpose.
pub fn is_call(event: &OsEvent) -> bool {
    matches!(event.kind, OsEventKind::Call | OsEventKind::Exec | OsEventKind::Image)
}

/// Its name, as the profile has it.
pub fn name_of<'a>(profile: &'a Profile, event: &OsEvent) -> Option<&'a [u8]> {
    event.name.map(|name| profile.os_names[name.index()].as_slice())
}

/// Whether it is a call that failed: its result is the negative number of an error.
pub fn has_failed(event: &OsEvent) -> bool {
    const ERRORS: std::ops::Range<i64> = -4095..0;
    event.result.is_some_and(|result| ERRORS.contains(&result))
}

/// How many runs these are of.
pub fn runs(profile: &Profile) -> usize {
    profile.runs_of(RunKind::Events).count()
}
