//! The run in which paths are counted: the program streams what it executes, and plans are carried out along that.

use super::found::Outcome;
use crate::signals;
use std::time::Instant;
use timewise_engine::streams::Windows;
use timewise_flow::{Analysis, RoutineId};
use timewise_paths::{Feed, Found, Limits, Method, Program, Walker};
use timewise_report::listing::WORTH_SAYING;
use timewise_target::launch::Launch;

/// Runs a program whose edges were counted, and counts its paths.
///
/// # Errors
/// If it cannot be run under streaming.
pub fn follow(analysis: &Analysis, method: Method, launch: Launch) -> anyhow::Result<Outcome> {
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
    let stopped = signals::launch(launch)?;
    let begun = Instant::now();
    let streamed = timewise_engine::stream(stopped, &options, windows, |chunk| {
        made_sense &= feed.chunk(chunk, &mut walker);
    });
    signals::program_ended();
    let (counted, is_whole) = streamed?;
    let elapsed = begun.elapsed();
    walker.finish();
    let mut outcome = Outcome::new(Found::followed(&program, &walker), elapsed);
    outcome.exit = counted.profile.runs[0].exit;
    outcome.warnings.extend(elsewhere(&walker));
    if !is_whole || !made_sense {
        outcome
            .warnings
            .push("some of what was executed is missing: paths were taken more often".to_string());
    }
    if outcome.found.strayed > 0 {
        outcome.warnings.push(format!(
            "{} left where edges were not counted, and not among those counted",
            match outcome.found.strayed {
                1 => "1 path was".into(),
                strayed => format!("{strayed} paths were"),
            }
        ));
    }
    Ok(outcome)
}

/// What is to be said of functions that were executed when edges were counted, and through which no path went.
fn elsewhere(walker: &Walker) -> Option<String> {
    let share = walker.share_missing();
    (share >= WORTH_SAYING).then(|| {
        format!(
            "{:.1} % of the instructions are in functions that were not executed again where they had been, as code that \
             is written at run time: its paths are not counted; --deterministic, which has addresses be the same each \
             time, counts them",
            100.0 * share
        )
    })
}
