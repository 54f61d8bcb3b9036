//! The run in which paths are counted by the program itself, with counters in its translated code.

use super::found::Found;
use crate::signals;
use std::sync::Arc;
use std::time::Instant;
use timewise_flow::{Analysis, RoutineId};
use timewise_paths::{Instruments, Limits, Method, Program};
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
    let stopped = launch.stopped()?;
    signals::leave_to(stopped.pid());
    let begun = Instant::now();
    let counted = timewise_engine::record(stopped, &options);
    signals::program_ended();
    let counted = counted?;
    let mut found =
        Found { elapsed: begun.elapsed(), exit: counted.profile.runs[0].exit, ..Found::default() };
    for (number, routine) in (0..).map(RoutineId).zip(&instruments.routines) {
        match (routine, instruments.tally(number, &counted.paths)) {
            (Some(routine), Some(tally)) => found.add(&program, number, &routine.plan, &tally),
            _ => found.apart += 1,
        }
    }
    if !counted.profile.runs[0].counts_complete {
        found
            .warnings
            .push("the run whose paths were counted says itself that its counts are not complete".into());
    }
    if counted.paths.lost > 0 {
        found.warnings.push(format!(
            "{} calls were open at a time when there were too many: the paths that made them are missing",
            counted.paths.lost
        ));
    }
    if found.apart > 0 {
        found.warnings.push(format!(
            "{} functions are not in files, or their blocks overlap, and none of their paths are counted; --follow counts \
             them",
            found.apart
        ));
    }
    Ok(found.sorted())
}
