//! Edges and then paths of one run: a program that runs already, or one that we launch and leave alone at first.

use super::found::{Outcome, Whole, apart};
use super::with_edges;
use crate::attached::enough;
use crate::{progress, symbolise};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use timewise_engine::{CountError, Meanwhile, Options, attach};
use timewise_flow::Analysis;
use timewise_paths::same::Looks;
use timewise_paths::{Instruments, Later, Limits, Method, Program};
use timewise_profile::Profile;
use timewise_report::listing::WORTH_SAYING;
use timewise_target::attachable::lives;

const TOO_LATE: &str =
    "no paths were counted: it ended, or was interrupted, while its edges were; let these take less";

/// How long each is counted.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Edges.
    pub edges: Duration,
    /// Then paths; to the program's end if it is none.
    pub paths: Option<Duration>,
}

/// Counts edges of process `pid`, unless they are known from a file, and then its paths: a profile of the time in which
/// paths were counted, and what they are. Of a program that ends before, only edges are told. If it can no longer be
/// attached to, what was counted up to then is told, and why there is no more.
///
/// # Errors
/// If it cannot be attached to at all.
pub fn count(
    pid: i32,
    method: Method,
    known: Option<&Path>,
    Times { edges, paths }: Times,
) -> anyhow::Result<(Profile, Option<Outcome>)> {
    let is_counted = known.is_none();
    let mut known = match known {
        Some(file) => with_edges(file)?,
        None => {
            let _shown = progress::show_until("counting edges", Some(edges));
            let mut profile = attach(pid, edges, &options(), |_| enough())?.profile;
            symbolise::symbolise(&mut profile);
            profile
        }
    };
    let _shown = progress::show_until("counting paths", paths);
    let deadline = Instant::now().checked_add(paths.unwrap_or(Duration::MAX));
    let left =
        || deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
    let mut stage = 0;
    let mut whole: Option<Whole> = None;
    let mut obstacle = None;
    while !enough() && lives(pid) && !left().is_zero() {
        let counted = match count_stage(stage, (pid, method), &known, left()) {
            Ok(counted) => counted,
            Err(CountError::Attach(_)) if !lives(pid) => break,
            Err(error) if is_counted || whole.is_some() => {
                obstacle = Some(error);
                break;
            }
            Err(error) => return Err(error.into()),
        };
        known.append_later(counted.profile.clone());
        known.paths.clear();
        match &mut whole {
            Some(whole) => whole.add(counted),
            None => whole = Some(counted),
        }
        stage += 1;
    }
    Ok(match whole {
        Some(Whole { profile, mut outcome }) => {
            outcome.warnings.extend(obstacle.map(|error| format!("no more paths were counted: {error}")));
            (profile, Some(outcome))
        }
        None => {
            let why = obstacle.map(|error| format!("no paths were counted: {error}"));
            known.runs[0].warnings.push(why.unwrap_or_else(|| TOO_LATE.into()));
            (known, None)
        }
    })
}

fn options() -> Options {
    Options { calls: false, ..Options::default() }
}

/// Counts paths by the edges that are known, for `time` or until the plans do not hold any more.
fn count_stage(
    stage: u32,
    (pid, method): (i32, Method),
    known: &Profile,
    time: Duration,
) -> Result<Whole, CountError> {
    let analysis = Analysis::new(known, None);
    let program = Program::new(&analysis);
    let mut instruments = Instruments::new(&program, known, method, Limits::default());
    let paths = Some(Arc::new(instruments.instrumentation.clone()));
    let begun = Instant::now();
    let attached = {
        let looks = Mutex::new(Looks::new(stage));
        let is_over = |meanwhile: &Meanwhile| {
            let cold_share = || instruments.cold_share(&meanwhile.paths());
            let looks = looks.lock();
            looks.is_ok_and(|mut looks| looks.is_over(begun.elapsed(), || meanwhile.blocks(), cold_share))
        };
        attach(pid, time, &Options { paths, ..options() }, |meanwhile| enough() || is_over(meanwhile))?
    };
    let elapsed = begun.elapsed();
    let mut profile = attached.profile;
    symbolise::symbolise(&mut profile);
    let mut outcome = {
        let analysis = Analysis::new(&profile, None);
        let later = Program::new(&analysis);
        let later = Later::new((&program, &known.modules), (&later, &profile.modules));
        let mut outcome = Outcome::new(later.found(&mut instruments, &attached.paths), elapsed);
        outcome.warnings.extend(unknown(later.unknown_share()));
        outcome
    };
    outcome.warnings.extend(apart(&program, &instruments, ""));
    Ok(Whole::new(profile, outcome))
}

/// What is to be said of code without plans.
fn unknown(share: f64) -> Option<String> {
    (share >= WORTH_SAYING).then(|| {
        format!(
            "{:.1} % of the instructions of the last stage are code that had not been executed before, and no paths go \
             there",
            100.0 * share
        )
    })
}
