//! The run in which paths are counted by the program itself, with counters in its translated code.

use super::found::{Outcome, apart};
use crate::signals;
use std::sync::Arc;
use std::time::Instant;
use timewise_flow::{Analysis, Code};
use timewise_paths::same::{is_other_work, replaced};
use timewise_paths::{Found, Instruments, Limits, Method, Program};
use timewise_profile::{Module, Profile};
use timewise_report::number::grouped;
use timewise_target::launch::Launch;

/// Runs a program whose edges were counted, and counts its paths.
///
/// # Errors
/// If it cannot be run under counting.
pub fn count(analysis: &Analysis, method: Method, launch: Launch) -> anyhow::Result<Outcome> {
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
    let found = Found::counted(&instruments, &counted.paths, blocks, |_, _, _| (u64::MAX, false));
    let mut outcome = Outcome::new(found, elapsed);
    outcome.exit = counted.profile.runs[0].exit;
    if !counted.profile.runs[0].counts_complete {
        outcome
            .warnings
            .push("the run whose paths were counted says itself that its counts are not complete".into());
    }
    outcome.warnings.extend(replaced(analysis.profile, &counted.profile).map(no_plans));
    outcome.warnings.extend(other_work(analysis.code.instructions_executed(), &counted.profile));
    outcome.warnings.extend(apart(&program, &instruments, "; --follow --deterministic counts them"));
    Ok(outcome)
}

/// What is to be said if the run whose paths were counted did not do what the one did whose edges were.
fn other_work(edges: u64, counted: &Profile) -> Option<String> {
    let paths = Code::new(counted).instructions_executed();
    is_other_work(edges, paths).then(|| {
        format!(
            "the runs differ: {} instructions were executed when edges were counted, {} when paths were, and what edges \
             tell is of the former",
            grouped(edges),
            grouped(paths)
        )
    })
}

/// What is to be said of a file that was another by the time that paths were counted.
fn no_plans(replaced: &Module) -> String {
    let path = String::from_utf8_lossy(&replaced.path);
    format!("{path} was replaced since its edges were counted, and none of its paths were; run it again")
}
