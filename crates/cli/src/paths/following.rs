//! The run in which paths are counted: the program streams what it executes, and plans are carried out along that.

use crate::signals;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use timewise_engine::streams::Windows;
use timewise_flow::{Analysis, RoutineId};
use timewise_paths::accuracy::{Accuracy, compare};
use timewise_paths::{Feed, Limits, Method, Path, Program, Walker};
use timewise_profile::{Exit, PathCount};
use timewise_target::launch::Launch;

/// What came of it.
#[derive(Debug)]
pub struct Followed {
    /// All paths that were taken, most executed blocks first.
    pub paths: Vec<PathCount>,
    /// Functions that have any.
    pub routines: u64,
    /// Executions of paths that were counted.
    pub counted: u64,
    /// Executions of paths that edges tell.
    pub bounded: u64,
    /// Executions of paths that have no number.
    pub cold: u64,
    /// Executions of paths off the edges that are known.
    pub strayed: u64,
    /// Share of the flow that is attributed to the paths that it took, where not all paths are counted.
    pub definite: Option<f64>,
    /// How long the run took.
    pub elapsed: Duration,
    /// How the program ended.
    pub exit: Exit,
    /// What a reader must know.
    pub warnings: Vec<String>,
}

/// Runs a program whose edges were counted, and counts its paths.
///
/// # Errors
/// If it cannot be run under streaming.
pub fn follow(analysis: &Analysis, method: Method, launch: Launch) -> anyhow::Result<Followed> {
    let program = Program::new(analysis);
    let plans = |routine: RoutineId| {
        let graph = &program.graphs[routine.index()];
        // The paths that there are come first, so that it is known how much of them is found out.
        let mut plans = vec![Method::All.plan(graph, Limits::default())];
        if method != Method::All {
            plans.push(method.plan(graph, Limits::default()));
        }
        plans
    };
    let mut walker = Walker::new(&program, plans);
    let mut feed = Feed::new(analysis);
    let mut made_sense = true;
    let options = timewise_engine::Options { calls: false, ..timewise_engine::Options::default() };
    let windows = Windows { memory: false, ..Windows::ALL };
    let stopped = launch.stopped()?;
    signals::leave_to(stopped.pid());
    let begun = Instant::now();
    let streamed = timewise_engine::stream(stopped, &options, windows, |chunk| {
        made_sense &= feed.chunk(chunk, &mut walker);
    });
    signals::program_ended();
    let (counted, is_whole) = streamed?;
    let elapsed = begun.elapsed();
    walker.finish();
    let mut followed = sum(&program, &walker);
    (followed.elapsed, followed.exit) = (elapsed, counted.profile.runs[0].exit);
    if !is_whole || !made_sense {
        followed
            .warnings
            .push("some of what was executed is missing: paths were taken more often".to_string());
    }
    if followed.strayed > 0 {
        followed.warnings.push(format!(
            "{} paths were left where edges were not counted, and are not among those counted",
            followed.strayed
        ));
    }
    Ok(followed)
}

/// What the last plan of each routine found out.
fn sum(program: &Program, walker: &Walker) -> Followed {
    let mut followed = Followed {
        paths: Vec::new(),
        routines: 0,
        counted: 0,
        bounded: 0,
        cold: 0,
        strayed: walker.strayed,
        definite: None,
        elapsed: Duration::ZERO,
        exit: Exit::Unknown,
        warnings: Vec::new(),
    };
    let mut accuracy = Accuracy::default();
    for (routine, of) in walker.routines().iter().enumerate() {
        let (Some(first), Some(plan), Some(tally)) = (of.plans.first(), of.plans.last(), of.tallies.last())
        else {
            continue;
        };
        let found = tally.profile(plan);
        followed.routines += u64::from(!found.is_empty());
        followed.cold += tally.executed.cold_counts;
        if of.plans.len() > 1 {
            let graph = &program.graphs[routine];
            accuracy.add(compare(graph, (&of.truth.profile(), &first.cuts), (&found, &plan.cuts)));
        }
        let bounds: BTreeSet<Path> = plan.obvious.iter().map(|(edges, _)| plan.decoder.path(edges)).collect();
        for (path, executions) in found {
            let is_bound = bounds.contains(&path);
            *(if is_bound { &mut followed.bounded } else { &mut followed.counted }) += executions;
            let Path { blocks, entered, left } = path;
            let block = |&number: &u32| program.block(RoutineId(routine as u32), number);
            let blocks = blocks.iter().map(block).collect();
            followed.paths.push(PathCount { blocks, entered, left, executions, is_bound });
        }
    }
    followed.definite = (accuracy.flow > 0).then(|| accuracy.definite());
    let weight = |path: &PathCount| u128::from(path.executions) * path.blocks.len() as u128;
    followed.paths.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.blocks.cmp(&b.blocks)));
    followed
}
