//! Rows of branches that traces saw, and of the functions that they were taken in.

use super::compact;
use crate::labels;
use serde::Serialize;
use std::collections::BTreeMap;
use timewise_flow::lines::line_at;
use timewise_flow::names::Names;
use timewise_profile::{ModuleId, Place, Profile, TakenBranch};

/// A branch from one place to another.
#[derive(Clone, Default, Debug, Serialize)]
pub struct BranchRow {
    /// Path of the module that the branch is in.
    pub module: String,
    /// Its function.
    pub function: String,
    /// Where it is, as offset in the module.
    pub offset: u64,
    /// Its source file, if known.
    pub file: Option<String>,
    /// Its line.
    pub line: Option<u32>,
    /// Path of the module that it led to.
    pub to_module: String,
    /// The function there.
    pub to_function: String,
    /// Where it led to, as offset in that module.
    pub to_offset: u64,
    /// The source file there, if known.
    pub to_file: Option<String>,
    /// The line there.
    pub to_line: Option<u32>,
}

/// A function and the branches that were taken in it.
#[derive(Clone, Default, Debug, Serialize)]
pub struct BranchingRow {
    /// Path of its module.
    pub module: String,
    /// Its name.
    pub function: String,
}

/// A row and how much of all that traces saw it is, whose fields follow the row's own.
#[derive(Clone, Debug, Serialize)]
pub struct Seen<R> {
    /// What was seen.
    #[serde(flatten)]
    pub of: R,
    /// How much of all.
    #[serde(flatten)]
    pub share: Share,
}

impl<R> Seen<R> {
    /// The row as a sequence of two, which is how a table without nesting takes both.
    pub fn into_parts(self) -> (R, Share) {
        (self.of, self.share)
    }
}

/// Some of the branches that traces saw.
#[derive(Clone, Default, Copy, Debug, Serialize)]
pub struct Share {
    /// How often they were seen.
    pub seen: u64,
    /// Share of all branches by weight, 0 to 1.
    #[serde(serialize_with = "compact")]
    pub share: f64,
    /// Lower limit of the share.
    #[serde(serialize_with = "compact")]
    pub share_low: f64,
    /// Upper limit of the share.
    #[serde(serialize_with = "compact")]
    pub share_high: f64,
}

/// Whether traced branches are all that a profile holds.
pub fn is_traced_only(profile: &Profile) -> bool {
    !profile.taken_branches.is_empty() && profile.samples.is_empty() && profile.blocks.is_empty()
}

/// Traces that a profile was made of: each has one last branch.
pub fn traces(profile: &Profile) -> u64 {
    times(profile.taken_branches.iter().filter(|branch| branch.next.is_none()))
}

/// How often traces saw all of these.
pub fn times<'a>(branches: impl IntoIterator<Item = &'a TakenBranch>) -> u64 {
    branches.into_iter().fold(0, |sum: u64, branch| sum.saturating_add(branch.count))
}

/// All branches by where they lead, the most frequent first.
pub fn branches(profile: &Profile) -> Vec<Seen<BranchRow>> {
    let names = Names::of(profile);
    let source = |place| {
        let line = line_at(profile, place);
        (line.map(|line| labels::file_path(profile, line.file).to_string()), line.map(|line| line.line))
    };
    let row = |(from, to): (Place, Place)| {
        let ((file, line), (to_file, to_line)) = (source(from), source(to));
        BranchRow {
            module: labels::module_path(profile, from.module),
            function: names.of_place(from),
            offset: from.offset.0,
            file,
            line,
            to_module: labels::module_path(profile, to.module),
            to_function: names.of_place(to),
            to_offset: to.offset.0,
            to_file,
            to_line,
        }
    };
    ranked(profile, |branch| (branch.from, branch.to), row)
}

/// All functions by the branches taken in them, the most frequent first.
pub fn branching(profile: &Profile) -> Vec<Seen<BranchingRow>> {
    let names = Names::of(profile);
    // Where nothing is named, each branch would be a function of its own.
    let function = |place: Place| match names.named(place) {
        Some(name) => name.to_string(),
        None => format!("[{}]", labels::file_name(&labels::module_path(profile, place.module))),
    };
    let row = |(module, function): (ModuleId, String)| BranchingRow {
        module: labels::module_path(profile, module),
        function,
    };
    ranked(profile, |branch| (branch.from.module, function(branch.from)), row)
}

/// What is alike together, a row for each, the most first.
fn ranked<K: Ord, R>(
    profile: &Profile,
    key: impl Fn(&TakenBranch) -> K,
    row: impl Fn(K) -> R,
) -> Vec<Seen<R>> {
    let mut all: BTreeMap<K, (u64, u64)> = BTreeMap::new();
    for branch in &profile.taken_branches {
        let (seen, weight) = all.entry(key(branch)).or_default();
        *seen = seen.saturating_add(branch.count);
        *weight = weight.saturating_add(branch.weight);
    }
    let whole = all.values().map(|&(_, weight)| weight as f64).sum::<f64>().max(1.0);
    let draws = traces(profile) as f64;
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|&(_, (_, weight))| std::cmp::Reverse(weight));
    let of = |(key, (seen, weight))| {
        let share = weight as f64 / whole;
        let (share_low, share_high) = interval(share, draws);
        Seen { of: row(key), share: Share { seen, share, share_low, share_high } }
    };
    all.into_iter().map(of).collect()
}

/// Between which the true share lies with a probability of 95 % if each trace is one draw: what follows within a trace
/// from what stands before tells nothing more (Wilson's score interval, 1927). Long traces tell more than that.
fn interval(share: f64, draws: f64) -> (f64, f64) {
    const DEVIATIONS: f64 = 1.96;
    if draws < 1.0 {
        return (0.0, 1.0);
    }
    let square = DEVIATIONS * DEVIATIONS / draws;
    let middle = (share + square / 2.0) / (1.0 + square);
    let half = (square * (share * (1.0 - share) + square / 4.0)).sqrt() / (1.0 + square);
    ((middle - half).clamp(0.0, share), (middle + half).clamp(share, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::{CodeVersion, Module, ModuleKind, Offset, ProcessId};

    #[test]
    fn limits_are_those_of_tables() {
        // Newcombe (1998), table I, method 3.
        for (of, draws, low, high) in [
            (81.0, 263.0, 0.2553, 0.3662),
            (15.0, 148.0, 0.0624, 0.1605),
            (0.0, 20.0, 0.0, 0.1611),
            (1.0, 29.0, 0.0061, 0.1718),
        ] {
            let found = interval(of / draws, draws);
            assert!(
                (found.0 - low).abs() < 5e-5 && (found.1 - high).abs() < 5e-5,
                "{of} of {draws}: {found:?}"
            );
        }
        assert!(interval(0.0, 100.0).0 == 0.0 && interval(1.0, 100.0).1 == 1.0);
    }

    #[test]
    fn branches_are_added_up_by_where_they_lead() {
        let at = |offset| Place { module: ModuleId(0), version: CodeVersion(0), offset: Offset(offset) };
        let seen = |from, to, next: Option<u64>, count, weight| TakenBranch {
            process: ProcessId(0),
            from: at(from),
            to: at(to),
            next: next.map(at),
            count,
            weight,
        };
        let profile = Profile {
            modules: vec![Module { kind: ModuleKind::File, path: b"/app".to_vec(), build_id: Vec::new() }],
            taken_branches: vec![
                seen(8, 1, Some(8), 5, 2000),
                seen(8, 1, None, 1, 1000),
                seen(9, 1, Some(8), 2, 7000),
            ],
            ..Profile::default()
        };
        let rows = branches(&profile);
        let rows: Vec<_> = rows.iter().map(|row| (row.of.offset, row.share.seen, row.share.share)).collect();
        assert_eq!(rows, [(9, 2, 0.7), (8, 6, 0.3)]);
        let functions = branching(&profile);
        let all = functions[0].share;
        assert_eq!((functions.len(), all.seen, all.share), (1, 8, 1.0));
        assert_eq!((&functions[0].of.function[..], traces(&profile)), ("[app]", 1));
    }
}
