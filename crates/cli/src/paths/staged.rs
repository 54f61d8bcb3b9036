//! Edges and then paths of one run: a program that runs already, or one that we launch and leave alone at first.

use super::found::Found;
use super::inside::{apart, sum};
use super::whole::{Whole, add_counts};
use super::with_edges;
use crate::attached::enough;
use crate::{progress, symbolise};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use timewise_engine::{CountError, Meanwhile, Options, attach};
use timewise_flow::{Analysis, RoutineId};
use timewise_paths::{Cfg, Instruments, Later, Limits, Method, Program, Strays, at_most};
use timewise_profile::Profile;
use timewise_report::listing::WORTH_SAYING;
use timewise_target::attachable::lives;

/// How long the first stage takes. In the next one it is looked after half of that, and then after twice as long each
/// time, whether paths still go where edges were counted.
const FIRST: Duration = Duration::from_secs(1);

/// If a larger share of the paths has no number, the program goes other ways than before, and its paths are planned
/// anew.
const MOST_COLD: f64 = 0.05;

/// Likewise if it executes so much more code than when it was last looked.
const NEW_CODE: f64 = 1.1;

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
) -> anyhow::Result<(Profile, Option<Found>)> {
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
    let mut stage = Stage { number: 0, pause: FIRST };
    let mut whole: Option<Whole> = None;
    let mut obstacle = None;
    while !enough() && lives(pid) && !left().is_zero() {
        let counted = match stage.count(pid, method, &known, left()) {
            Ok(counted) => counted,
            Err(CountError::Attach(_)) if !lives(pid) => break,
            Err(error) if is_counted || whole.is_some() => {
                obstacle = Some(error);
                break;
            }
            Err(error) => return Err(error.into()),
        };
        add_counts(&mut known, counted.profile.clone());
        known.paths.clear();
        match &mut whole {
            Some(whole) => whole.add(counted),
            None => whole = Some(counted),
        }
        // Stages become longer, and the first look in one tells how much code it executes.
        stage = Stage { number: stage.number + 1, pause: FIRST * 2u32.saturating_pow(stage.number) / 2 };
    }
    Ok(match whole {
        Some(Whole { profile, mut found }) => {
            found.warnings.extend(obstacle.map(|error| format!("no more paths were counted: {error}")));
            (profile, Some(found))
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

/// A time in which paths are counted by the same plans.
struct Stage {
    number: u32,
    /// How long it is not looked whether the plans still hold.
    pause: Duration,
}

impl Stage {
    /// Counts paths by the edges that are known, for `time` or until the plans do not hold any more.
    fn count(&self, pid: i32, method: Method, known: &Profile, time: Duration) -> Result<Whole, CountError> {
        let analysis = Analysis::new(known, None);
        let program = Program::new(&analysis);
        let mut instruments = Instruments::new(&program, known, method, Limits::default());
        let paths = Some(Arc::new(instruments.instrumentation.clone()));
        let begun = Instant::now();
        let attached = {
            let looks = Mutex::new(Looks { next: self.pause, blocks: None });
            let is_over = |meanwhile: &Meanwhile| {
                let Ok(mut looks) = looks.lock() else { return false };
                let is_due = begun.elapsed() >= looks.next;
                // What was executed in the first stage tells more of edges than what there was before.
                is_due && (self.number == 0 || looks.look(meanwhile, &instruments))
            };
            attach(pid, time, &Options { paths, ..options() }, |meanwhile| enough() || is_over(meanwhile))?
        };
        let elapsed = begun.elapsed();
        let mut profile = attached.profile;
        symbolise::symbolise(&mut profile);
        let mut found = {
            let analysis = Analysis::new(&profile, None);
            let later = Program::new(&analysis);
            let later = Later::new((&program, &known.modules), (&later, &profile.modules));
            let routines = (0..program.graphs.len() as u32).map(RoutineId);
            let graphs: Vec<Cfg> = routines.clone().map(|routine| later.graph(routine)).collect();
            let strays: Vec<Strays> =
                routines.zip(&graphs).map(|(routine, graph)| later.strays(routine, graph)).collect();
            instruments.recount(&graphs);
            let blocks = |routine, blocks: &[u32]| later.blocks(routine, blocks);
            let at_most = |routine: RoutineId, plan: &_, path: &_| {
                let (graph, strays) = (&graphs[routine.index()], &strays[routine.index()]);
                (at_most(graph, path), strays.may_count_as(path, plan, graph))
            };
            let mut found = sum(&instruments, &attached.paths, blocks, at_most);
            found.warnings.extend(unknown(later.unknown_share()));
            found
        };
        found.elapsed = elapsed;
        found.warnings.extend(apart(&program, &instruments, ""));
        Ok(Whole::new(profile, found))
    }
}

/// Looking whether plans still hold.
struct Looks {
    /// When, after the stage began.
    next: Duration,
    /// How many blocks there were the last time.
    blocks: Option<u64>,
}

impl Looks {
    /// Whether they do not.
    fn look(&mut self, meanwhile: &Meanwhile, instruments: &Instruments) -> bool {
        let blocks = meanwhile.blocks();
        let before = self.blocks.replace(blocks).unwrap_or(blocks);
        self.next *= 2;
        let is_new = blocks as f64 > NEW_CODE * before as f64;
        is_new || instruments.cold_share(&meanwhile.paths()) > MOST_COLD
    }
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
