//! What a run finds out of a program's paths.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use timewise_paths::{Path, Plan, Tally};
use timewise_profile::{BlockId, Exit, PathCount};
use timewise_report::number::grouped;

/// What came of it.
#[derive(Debug, Default)]
pub struct Found {
    /// All paths that were taken, most executed blocks first.
    pub paths: Vec<PathCount>,
    /// Functions that have any.
    pub routines: u64,
    /// Executions of paths that were counted.
    pub counted: u64,
    /// Counts that are no path's.
    pub senseless: u64,
    /// Executions of paths off the edges that are known.
    pub strayed: u64,
    /// Share of the flow that is attributed to the paths that it took, where it is known.
    pub definite: Option<f64>,
    /// How long the run took.
    pub elapsed: Duration,
    /// How the program ended.
    pub exit: Exit,
    /// What a reader must know.
    pub warnings: Vec<String>,
}

impl Found {
    /// Adds what a routine's plan found out; `blocks` are those of the profile that its own are, `at_most` says how often
    /// a path can have been taken, and whether others may have been counted for it.
    pub fn add(
        &mut self,
        plan: &Plan,
        tally: &Tally,
        blocks: impl Fn(&[u32]) -> Vec<BlockId>,
        at_most: impl Fn(&Path) -> (u64, bool),
    ) {
        let profile = tally.profile(plan);
        self.senseless += tally.senseless;
        self.routines += u64::from(!profile.is_empty());
        let bounds: BTreeSet<Path> = plan.obvious.iter().map(|(edges, _)| plan.decoder.path(edges)).collect();
        let mut paths: BTreeMap<(Vec<BlockId>, bool, bool, bool), u64> = BTreeMap::new();
        for (path, counted) in profile {
            let (most, may_be_others) = at_most(&path);
            let executions = counted.min(most);
            if executions == 0 {
                continue;
            }
            let is_bound = may_be_others || bounds.contains(&path);
            self.counted += if is_bound { 0 } else { executions };
            let key = (blocks(&path.blocks), path.entered, path.left, is_bound);
            *paths.entry(key).or_default() += executions;
        }
        let paths = paths.into_iter().filter(|((blocks, ..), _)| !blocks.is_empty());
        self.paths.extend(paths.map(|((blocks, entered, left, is_bound), executions)| PathCount {
            blocks,
            entered,
            left,
            executions,
            is_bound,
        }));
    }

    /// With its paths in order, and what is wrong with them.
    pub fn sorted(mut self) -> Found {
        if self.senseless > 0 {
            self.warnings.push(format!(
                "{} counts are no path's: either timewise counts wrongly, or the program wrote where counters are",
                grouped(self.senseless)
            ));
        }
        let weight = |path: &PathCount| u128::from(path.executions) * path.blocks.len() as u128;
        self.paths.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.blocks.cmp(&b.blocks)));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_paths::{Cfg, Limits, Method};

    #[test]
    fn counts_that_are_no_paths_are_told() {
        let ways = [(None, Some(0)), (Some(0), Some(1)), (Some(0), None), (Some(1), None)];
        let cfg = Cfg::new(2, ways.map(|(from, to)| (from, to, 5)));
        let plan = Method::All.plan(&cfg, Limits::default());
        let found = |number| {
            let mut tally = Tally::default();
            tally.add(&plan, [(number, 7)].into_iter(), 0);
            let mut found = Found::default();
            found.add(
                &plan,
                &tally,
                |blocks| blocks.iter().map(|&block| BlockId(block)).collect(),
                |_| (u64::MAX, false),
            );
            found.sorted()
        };
        assert_eq!((found(1).counted, found(1).warnings), (7, Vec::new()));
        assert_eq!((found(2).counted, found(2).warnings.len()), (0, 1));
    }
}
