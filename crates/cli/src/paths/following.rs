//! The run in which paths are counted: the program streams what it executes, and plans are carried out along that.

use super::found::Found;
use super::inside::share;
use crate::signals;
use std::time::Instant;
use timewise_engine::streams::Windows;
use timewise_flow::{Analysis, RoutineId};
use timewise_paths::accuracy::{Accuracy, compare};
use timewise_paths::{Feed, Limits, Method, Program, Walker};
use timewise_report::listing::WORTH_SAYING;
use timewise_target::launch::Launch;

/// Runs a program whose edges were counted, and counts its paths.
///
/// # Errors
/// If it cannot be run under streaming.
pub fn follow(analysis: &Analysis, method: Method, launch: Launch) -> anyhow::Result<Found> {
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
    let mut found = sum(&program, &walker);
    (found.elapsed, found.exit) = (elapsed, counted.profile.runs[0].exit);
    found.warnings.extend(elsewhere(&program, &walker));
    if !is_whole || !made_sense {
        found.warnings.push("some of what was executed is missing: paths were taken more often".to_string());
    }
    if found.strayed > 0 {
        found.warnings.push(format!(
            "{} left where edges were not counted, and not among those counted",
            match found.strayed {
                1 => "1 path was".into(),
                strayed => format!("{strayed} paths were"),
            }
        ));
    }
    Ok(found)
}

/// What is to be said of functions that were executed when edges were counted, and through which no path went.
fn elsewhere(program: &Program, walker: &Walker) -> Option<String> {
    let routines = program.blocks.routines.iter().zip(walker.routines());
    let missing = routines.filter(|(_, of)| of.truth.is_empty()).map(|(routine, _)| routine);
    let share = share(program, missing);
    (share >= WORTH_SAYING).then(|| {
        format!(
            "{:.1} % of the instructions are in functions that were not executed again where they had been, as code that \
             is written at run time: its paths are not counted; --deterministic, which has addresses be the same each \
             time, counts them",
            100.0 * share
        )
    })
}

/// What the last plan of each routine found out.
fn sum(program: &Program, walker: &Walker) -> Found {
    let mut found = Found { strayed: walker.strayed(), ..Found::default() };
    let mut accuracy = Accuracy::default();
    for (number, of) in (0..).map(RoutineId).zip(walker.routines()) {
        let (Some(first), Some(plan), Some(tally)) = (of.plans.first(), of.plans.last(), of.tallies.last())
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
    found.sorted()
}
