//! What a run finds out of a program's paths.

use std::collections::BTreeSet;
use std::time::Duration;
use timewise_flow::RoutineId;
use timewise_paths::{Path, Plan, Program, Tally};
use timewise_profile::{Exit, PathCount};

/// What came of it.
#[derive(Debug, Default)]
pub struct Found {
    /// All paths that were taken, most executed blocks first.
    pub paths: Vec<PathCount>,
    /// Functions that have any.
    pub routines: u64,
    /// Functions whose paths were not counted.
    pub apart: u64,
    /// Executions of paths that were counted.
    pub counted: u64,
    /// Executions of paths that edges tell.
    pub bounded: u64,
    /// Executions of paths that have no number.
    pub cold: u64,
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
    /// Adds what a routine's plan found out.
    pub fn add(&mut self, program: &Program, routine: RoutineId, plan: &Plan, tally: &Tally) {
        let profile = tally.profile(plan);
        self.routines += u64::from(!profile.is_empty());
        self.cold += tally.executed.cold_counts;
        let bounds: BTreeSet<Path> = plan.obvious.iter().map(|(edges, _)| plan.decoder.path(edges)).collect();
        for (path, executions) in profile {
            let is_bound = bounds.contains(&path);
            *(if is_bound { &mut self.bounded } else { &mut self.counted }) += executions;
            let Path { blocks, entered, left } = path;
            let blocks = blocks.iter().map(|&number| program.block(routine, number)).collect();
            self.paths.push(PathCount { blocks, entered, left, executions, is_bound });
        }
    }

    /// With its paths in order.
    pub fn sorted(mut self) -> Found {
        let weight = |path: &PathCount| u128::from(path.executions) * path.blocks.len() as u128;
        self.paths.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.blocks.cmp(&b.blocks)));
        self
    }
}
