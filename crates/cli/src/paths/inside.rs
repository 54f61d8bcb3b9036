//! The run in which paths are counted by the program itself, with counters in its translated code.

use super::found::Found;
use crate::signals;
use std::sync::Arc;
use std::time::Instant;
use timewise_engine::paths::PathCounts;
use timewise_flow::{Analysis, Code, Routine, RoutineId};
use timewise_paths::{Instruments, Limits, Method, Path, Plan, Program};
use timewise_profile::{BlockId, Module, Profile};
use timewise_report::listing::WORTH_SAYING;
use timewise_report::number::grouped;
use timewise_target::launch::Launch;

/// Runs a program whose edges were counted, and counts its paths.
///
/// # Errors
/// If it cannot be run under counting.
pub fn count(analysis: &Analysis, method: Method, launch: Launch) -> anyhow::Result<Found> {
    let program = Program::new(analysis);
    let instruments = Instruments::new(&program, analysis.profile, method, Limits::default());
    let paths = Some(Arc::new(instruments.instrumentation.clone()));
    let options = timewise_engine::Options { calls: false, paths, ..timewise_engine::Options::default() };
    let stopped = signals::launch(launch)?;
    let begun = Instant::now();
    let counted = timewise_engine::record(stopped, &options);
    signals::program_ended();
    let counted = counted?;
    let elapsed = begun.elapsed();
    let blocks = |routine, blocks: &[u32]| program.blocks_of(routine, blocks);
    let mut found = sum(&instruments, &counted.paths, blocks, |_, _, _| (u64::MAX, false));
    (found.elapsed, found.exit) = (elapsed, counted.profile.runs[0].exit);
    if !counted.profile.runs[0].counts_complete {
        found
            .warnings
            .push("the run whose paths were counted says itself that its counts are not complete".into());
    }
    found.warnings.extend(replaced(analysis.profile, &counted.profile));
    found.warnings.extend(other_work(analysis.code.instructions_executed(), &counted.profile));
    found.warnings.extend(apart(&program, &instruments, "; --follow --deterministic counts them"));
    Ok(found)
}

/// A run that executes so much more or less than the one whose edges were counted has other paths than these tell.
const OTHER_WORK: f64 = 0.05;

/// What is to be said if the run whose paths were counted did not do what the one did whose edges were.
fn other_work(edges: u64, counted: &Profile) -> Option<String> {
    let paths = Code::new(counted).instructions_executed();
    let is_other = edges.abs_diff(paths) as f64 > OTHER_WORK * edges as f64;
    is_other.then(|| {
        format!(
            "the runs differ: {} instructions were executed when edges were counted, {} when paths were, and what edges \
             tell is of the former",
            grouped(edges),
            grouped(paths)
        )
    })
}

/// What is to be said of files that were others by the time that paths were counted: there are no plans for these.
fn replaced(edges: &Profile, paths: &Profile) -> Vec<String> {
    let is_replaced = |module: &&Module| {
        let mut now = paths.modules.iter().filter(|now| now.path == module.path).peekable();
        now.peek().is_some() && now.all(|now| now.build_id != module.build_id)
    };
    let said = |module: &Module| {
        let path = String::from_utf8_lossy(&module.path);
        format!("{path} was replaced since its edges were counted, and none of its paths were; run it again")
    };
    edges.modules.iter().filter(is_replaced).map(said).collect()
}

/// The share of all instructions that are some routines'.
pub fn share<'a>(program: &Program, routines: impl Iterator<Item = &'a Routine>) -> f64 {
    let code = program.blocks.code;
    let of_block = |id: &BlockId| {
        let block = &code.blocks[id.index()];
        block.executions as f64 * f64::from(block.length)
    };
    let executed: f64 = routines.flat_map(|routine| &routine.blocks).map(of_block).sum();
    executed / (code.instructions_executed() as f64).max(1.0)
}

/// What is to be said of functions without plans, and what to do.
pub fn apart(program: &Program, instruments: &Instruments, remedy: &str) -> Option<String> {
    let routines = program.blocks.routines.iter().zip(&instruments.routines);
    let apart = routines.filter(|(_, instrumented)| instrumented.is_none()).map(|(routine, _)| routine);
    let share = share(program, apart);
    (share >= WORTH_SAYING).then(|| {
        format!(
            "{:.1} % of the instructions are in code that is in no file (the vDSO, or written at run time), or whose \
             blocks overlap: its paths are not counted{remedy}",
            100.0 * share
        )
    })
}

/// What counters in a program say. `blocks` are those of the profile that a routine's own are, `at_most` says how often a
/// path can have been taken, and whether others may have been counted for it.
pub fn sum(
    instruments: &Instruments,
    counts: &PathCounts,
    blocks: impl Fn(RoutineId, &[u32]) -> Vec<BlockId>,
    at_most: impl Fn(RoutineId, &Plan, &Path) -> (u64, bool),
) -> Found {
    let mut found = Found::default();
    for (number, routine) in (0..).map(RoutineId).zip(&instruments.routines) {
        if let Some((routine, tally)) = routine.as_ref().zip(instruments.tally(number, counts)) {
            let plan = &routine.plan;
            found.add(plan, &tally, |path| blocks(number, path), |path| at_most(number, plan, path));
        }
    }
    if counts.lost > 0 {
        found.warnings.push(format!(
            "{} calls were open at a time when there were too many: the paths that made them are missing",
            counts.lost
        ));
    }
    found.sorted()
}
