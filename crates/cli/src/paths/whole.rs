//! What the stages of a run come to together: one run, with the counts of all of them.

use super::found::Found;
use std::collections::BTreeMap;
use timewise_profile::{BlockId, PathCount, Profile, RunId};

/// Some stages.
#[derive(Debug)]
pub struct Whole {
    /// Their edges and paths.
    pub profile: Profile,
    /// What their counters said.
    pub found: Found,
}

impl Whole {
    /// A stage.
    pub fn new(mut profile: Profile, found: Found) -> Whole {
        profile.paths.clone_from(&found.paths);
        Whole { profile, found }
    }

    /// Adds a later one.
    pub fn add(&mut self, later: Whole) {
        add_counts(&mut self.profile, later.profile);
        self.profile.paths = merged(std::mem::take(&mut self.profile.paths));
        let found = later.found;
        self.found.paths.clone_from(&self.profile.paths);
        self.found.routines = self.found.routines.max(found.routines);
        self.found.counted += found.counted;
        self.found.elapsed += found.elapsed;
        // What is wrong with a stage may be right in the next.
        self.found.warnings = found.warnings;
    }
}

/// Adds the counts of a later time of a run: not another run, of which counts would be the average.
pub fn add_counts(whole: &mut Profile, later: Profile) {
    whole.append(later);
    let later = whole.runs.split_off(1);
    let run = &mut whole.runs[0];
    for later in later {
        run.elapsed_ns += later.elapsed_ns;
        run.user_ns += later.user_ns;
        run.kernel_ns += later.kernel_ns;
        run.counts_complete &= later.counts_complete;
        let new = later.warnings.into_iter().filter(|warning| !run.warnings.contains(warning));
        run.warnings.extend(new.collect::<Vec<_>>());
    }
    whole.processes.iter_mut().for_each(|process| process.run = RunId(0));
}

/// Paths of the same blocks as one.
fn merged(paths: Vec<PathCount>) -> Vec<PathCount> {
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
    paths.sort_by_key(|path| std::cmp::Reverse(u128::from(path.executions) * path.blocks.len() as u128));
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_several_stages_is_one() {
        let path = |blocks: &[u32], executions, is_bound| PathCount {
            blocks: blocks.iter().map(|&block| BlockId(block)).collect(),
            entered: true,
            left: false,
            executions,
            is_bound,
        };
        let all = vec![path(&[1], 5, false), path(&[1, 2], 7, false), path(&[1], 20, true)];
        assert_eq!(merged(all), [path(&[1], 25, true), path(&[1, 2], 7, false)]);
    }
}
