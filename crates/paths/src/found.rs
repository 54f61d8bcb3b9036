//! What a run finds out of a program's paths.

use crate::accuracy::{Accuracy, compare};
use crate::decoder::Path;
use crate::instrument::Instruments;
use crate::plan::Plan;
use crate::program::Program;
use crate::tally::Tally;
use crate::walker::Walker;
use std::collections::{BTreeMap, BTreeSet};
use timewise_engine::paths::PathCounts;
use timewise_flow::RoutineId;
use timewise_profile::{BlockId, PathCount};

/// What was found out.
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
    /// Calls that were open when there were too many, and whose paths are missing.
    pub lost: u64,
    /// Executions of paths off the edges that are known.
    pub strayed: u64,
    /// Share of the flow that is attributed to the paths that it took, where it is known.
    pub definite: Option<f64>,
}

impl Found {
    /// What counters in a program say. `blocks` are those of the profile that a routine's own are, `at_most` says how
    /// often a path can have been taken, and whether others may have been counted for it.
    pub fn counted(
        instruments: &Instruments,
        counts: &PathCounts,
        blocks: impl Fn(RoutineId, &[u32]) -> Vec<BlockId>,
        at_most: impl Fn(RoutineId, &Plan, &Path) -> (u64, bool),
    ) -> Found {
        let mut found = Found { lost: counts.lost, ..Found::default() };
        for (number, routine) in (0..).map(RoutineId).zip(&instruments.routines) {
            if let Some((routine, tally)) = routine.as_ref().zip(instruments.tally(number, counts)) {
                let plan = &routine.plan;
                found.add(plan, &tally, |path| blocks(number, path), |path| at_most(number, plan, path));
            }
        }
        sort(&mut found.paths);
        found
    }

    /// What the last plan of each routine found out along a stream.
    pub fn followed(program: &Program, walker: &Walker) -> Found {
        let mut found = Found { strayed: walker.strayed(), ..Found::default() };
        let mut accuracy = Accuracy::default();
        for (number, of) in (0..).map(RoutineId).zip(walker.routines()) {
            let (Some(first), Some(plan), Some(tally)) =
                (of.plans.first(), of.plans.last(), of.tallies.last())
            else {
                continue;
            };
            if of.plans.len() > 1 {
                let graph = &program.graphs[number.index()];
                let profile = tally.profile(plan);
                accuracy.add(compare(graph, (&of.truth.profile(), &first.cuts), (&profile, &plan.cuts)));
            }
            found.add(plan, tally, |blocks| program.blocks_of(number, blocks), |_| (u64::MAX, false));
        }
        found.definite = (accuracy.flow > 0).then(|| accuracy.definite());
        sort(&mut found.paths);
        found
    }

    /// Adds what a routine's plan found out.
    fn add(
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
}

/// Paths of several times of a run: those of the same blocks as one.
pub fn merged(paths: Vec<PathCount>) -> Vec<PathCount> {
    let mut by_way: BTreeMap<(Vec<BlockId>, bool, bool), (u64, bool)> = BTreeMap::new();
    for PathCount { blocks, entered, left, executions, is_bound } in paths {
        let (sum, is_any_bound) = by_way.entry((blocks, entered, left)).or_default();
        *sum += executions;
        *is_any_bound |= is_bound;
    }
    let path = |((blocks, entered, left), (executions, is_bound))| PathCount {
        blocks,
        entered,
        left,
        executions,
        is_bound,
    };
    let mut paths: Vec<PathCount> = by_way.into_iter().map(path).collect();
    sort(&mut paths);
    paths
}

/// Most executed blocks first.
fn sort(paths: &mut [PathCount]) {
    let weight = |path: &PathCount| u128::from(path.executions) * path.blocks.len() as u128;
    paths.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.blocks.cmp(&b.blocks)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfg::Cfg;
    use crate::plan::Limits;
    use crate::targeted::Method;

    fn path(blocks: &[u32], executions: u64, is_bound: bool) -> PathCount {
        let blocks = blocks.iter().map(|&block| BlockId(block)).collect();
        PathCount { blocks, entered: true, left: false, executions, is_bound }
    }

    /// What is found of a function of two paths, of which one was counted, or none.
    fn found(number: u64, at_most: (u64, bool)) -> Found {
        let ways = [(None, Some(0)), (Some(0), Some(1)), (Some(0), None), (Some(1), None)];
        let cfg = Cfg::new(2, ways.map(|(from, to)| (from, to, 5)));
        let plan = Method::All.plan(&cfg, Limits::default());
        let mut tally = Tally::default();
        tally.add(&plan, [(number, 7)].into_iter(), 0);
        let mut found = Found::default();
        found.add(&plan, &tally, |blocks| blocks.iter().map(|&block| BlockId(block)).collect(), |_| at_most);
        found
    }

    #[test]
    fn counts_that_are_no_paths_are_told() {
        let many = (u64::MAX, false);
        assert_eq!((found(1, many).counted, found(1, many).senseless), (7, 0));
        assert_eq!((found(2, many).counted, found(2, many).senseless), (0, 7));
    }

    #[test]
    fn no_path_was_taken_more_often_than_edges_allow() {
        let told = |found: Found| {
            let paths: Vec<(u64, bool)> =
                found.paths.iter().map(|path| (path.executions, path.is_bound)).collect();
            (found.counted, paths)
        };
        assert_eq!(told(found(1, (3, false))), (3, vec![(3, false)]));
        // Of what others may have been counted for, nothing counts as counted.
        assert_eq!(told(found(1, (u64::MAX, true))), (0, vec![(7, true)]));
        assert_eq!(told(found(1, (0, false))), (0, vec![]));
    }

    #[test]
    fn a_path_of_several_times_is_one() {
        let all = vec![path(&[1], 5, false), path(&[1, 2], 7, false), path(&[1], 20, true)];
        assert_eq!(merged(all), [path(&[1], 25, true), path(&[1, 2], 7, false)]);
    }

    #[test]
    fn paths_count_by_their_length() {
        let mut all = [path(&[1], 5, false), path(&[4, 5], 3, false), path(&[2, 3], 3, false)];
        sort(&mut all);
        assert_eq!(all.map(|path| path.blocks[0].0), [2, 4, 1]);
    }
}
