//! `timewise paths`: how often control goes along each path through functions.

mod following;
mod found;
mod inside;
mod staged;

use crate::arguments::{Output, Program};
use crate::attached::{Profiled, Subject, parse_time};
use crate::talk::complain;
use crate::twice::{Input, Outputs, Written};
use crate::{progress, reading, recording, signals, symbolise};
use anyhow::{Context, ensure};
use found::Outcome;
use staged::Times;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use timewise_flow::Analysis;
use timewise_flow::told::{Coverage, Told};
use timewise_image::{Headers, Image};
use timewise_paths::{Found, Method};
use timewise_profile::{Exit, Module, ModuleId, Profile};
use timewise_report::number::{grouped, percent, quantity};
use timewise_target::attachable::lives;
use timewise_target::launch::Launch;
use timewise_target::program::resolve;
use timewise_target::run::exit_of;

/// Count how often a program goes along each path through its functions
#[derive(clap::Args)]
#[command(after_help = "\
A path goes from where a function is entered, or a loop's next round begins, to where the function
is left, or the round ends. The program runs twice: first its edges are counted, then its paths.
Standard input is read once and given to it twice; only what the first run writes is shown.

Paths whose counts the edges tell, and in functions with too many paths those over edges that are
hardly ever taken, are not counted (targeted path profiling), unless --all asks for that.

Examples:
  timewise paths -- ./app input
  timewise report --by path
  timewise paths --all -o all.tw -- ./app input
  timewise paths --edges counted.tw -- ./app input    run once, with edges counted before
  timewise paths --after 2s -- ./server               run once: edges for 2 s, then paths to its end
  timewise paths --pid 1234 --for 20s                 a program that runs already

The exit status is the program's; 125 if timewise fails, 126 if the program cannot be executed or
attached to, 127 if there is none; 0 for one that was attached to. Where paths are counted:
docs/paths.md.")]
pub struct Arguments {
    #[command(flatten)]
    output: Output,
    /// Count all paths
    #[arg(long, conflicts_with_all = ["cold", "disconnect"])]
    all: bool,
    /// Take an edge for cold that has less than so many percent of the executions of where it comes from
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = clap::value_parser!(u32).range(0..=50))]
    cold: u32,
    /// Count a loop's rounds apart from what is around it if it is entered in less than so many percent of them
    #[arg(long, value_name = "PERCENT", default_value = "15", value_parser = clap::value_parser!(u32).range(0..=100))]
    disconnect: u32,
    /// Take the counts of edges from this profile, and run the program once
    #[arg(long, value_name = "FILE")]
    edges: Option<PathBuf>,
    /// Run the program once: count its edges for so long, then its paths. For programs that run long, or do not do the
    /// same each time. Processes that it started before paths are counted are left alone
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with_all = ["edges", "pid", "follow"])]
    after: Option<Duration>,
    /// Count along the stream of all that is executed, which takes longer, and tell how much of what was taken is
    /// found out
    #[arg(long, conflicts_with = "pid")]
    follow: bool,
    #[command(flatten)]
    pub profiled: Profiled,
}

/// Of the time for which a process is attached to, the part in which its edges are counted.
const FOR_EDGES: u32 = 4;

const INTERRUPTED: &str = "counting paths was interrupted: those up to then are counted";

const DIFFERENT: &str = "the runs differ: edges and paths are those of different executions";

/// Runs the command, to the end of the program.
pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    arguments.output.begin()?;
    let method = match arguments.all {
        true => Method::All,
        false => Method::Targeted { cold: arguments.cold, disconnect: arguments.disconnect },
    };
    match (arguments.profiled.subject()?, arguments.after) {
        (Subject::Process(pid, time), _) => {
            let _attached = signals::attached();
            let known = arguments.edges.as_deref();
            let edges = if known.is_some() { Duration::ZERO } else { time / FOR_EDGES };
            let times = Times { edges, paths: Some(time - edges) };
            let (profile, outcome) = staged::count(pid, method, known, times)?;
            save(arguments, profile, outcome)?;
            Ok(Exit::Code(0))
        }
        (Subject::Program(program), Some(edges)) => after(arguments, edges, program, method),
        (Subject::Program(program), None) => twice(arguments, program, method),
    }
}

/// Saves what was found, or edges alone.
fn save(arguments: &Arguments, profile: Profile, outcome: Option<Outcome>) -> anyhow::Result<()> {
    match outcome {
        Some(outcome) => keep(arguments, profile, outcome),
        None => recording::keep(profile, &arguments.output, crate::count::summary).map(drop),
    }
}

/// Launches a program, counts its edges for some time, and then its paths.
fn after(arguments: &Arguments, edges: Duration, program: &Program, method: Method) -> anyhow::Result<Exit> {
    let stopped = signals::launch(program.launch())?;
    let running = stopped.release().context("cannot release the program")?;
    let counted = staged::count(running.pid(), method, None, Times { edges, paths: None });
    let was_too_late = counted.is_err() && !lives(running.pid());
    let ended = running.wait().context("cannot wait for the program")?;
    signals::program_ended();
    let exit = exit_of(ended.wait_status);
    if was_too_late {
        complain("nothing to save: it ended before anything was counted; leave out --after");
        recording::set_aside(&arguments.output)?;
        return Ok(exit);
    }
    let (mut profile, outcome) = counted?;
    profile.runs[0].exit = exit;
    save(arguments, profile, outcome)?;
    Ok(exit)
}

/// Saves what was found.
fn keep(arguments: &Arguments, mut profile: Profile, outcome: Outcome) -> anyhow::Result<()> {
    profile.paths.clone_from(&outcome.found.paths);
    profile.runs[0].warnings.extend(outcome.warnings.iter().cloned());
    recording::keep(profile, &arguments.output, |profile| summary(profile, &outcome, arguments.follow))
        .map(drop)
}

/// Runs a program for its edges, unless they are known, and once more for its paths.
fn twice(arguments: &Arguments, program: &Program, method: Method) -> anyhow::Result<Exit> {
    let input = Input::of_process()?;
    let outputs = Outputs::of_process().context("cannot examine standard output and error")?;
    let (mut profile, first) = match &arguments.edges {
        Some(file) => {
            let profile = with_edges(file)?;
            ensure_same(&profile, file, program)?;
            (profile, None)
        }
        None => {
            let (mut profile, written) = count(program.launch(), &input, &outputs)?;
            // Where a switch leads is in the function that it is in, wherever that ends. What files do not tell is said
            // when the profile is saved.
            symbolise::symbolise(&mut profile);
            (profile, Some(written))
        }
    };
    let exit = profile.runs[0].exit;
    if signals::interruption_behind(exit).is_some() {
        profile.runs[0].warnings.push("the program was interrupted, and not run again for its paths".into());
        recording::keep(profile, &arguments.output, crate::count::summary)?;
        return Ok(exit);
    }
    let mut launch = program.launch();
    let ends = match &first {
        None => {
            launch.stdin = input.first().context("cannot pass on standard input")?;
            outputs.first()
        }
        Some(first) => {
            launch.stdin = input.again()?.0;
            outputs.again(first)
        }
    };
    let ends = ends.context("cannot pass on standard output and error")?;
    (launch.stdout, launch.stderr) = (ends.stdout, ends.stderr);
    let mut outcome = {
        let analysis = Analysis::new(&profile, None);
        let _shown = progress::show("counting paths");
        match arguments.follow {
            true => following::follow(&analysis, method, launch)?,
            false => inside::count(&analysis, method, launch)?,
        }
    };
    let written = ends.record.finish();
    let mut exit = outcome.exit;
    if let Some(signal) = signals::interruption() {
        exit = Exit::Signal(signal);
        outcome.found.definite = None;
        outcome.warnings.push(INTERRUPTED.into());
    } else if let Some(first) = first {
        exit = profile.runs[0].exit;
        if exit != outcome.exit || first.stdout != written.stdout {
            outcome.found.definite = None;
            outcome.warnings.push(DIFFERENT.into());
        }
    }
    keep(arguments, profile, outcome)?;
    Ok(exit)
}

/// A profile whose counts of edges are to be taken.
///
/// # Errors
/// If it has none.
fn with_edges(file: &Path) -> anyhow::Result<Profile> {
    let profile = reading::load(file)?;
    ensure!(
        !profile.edge_counts.is_empty(),
        "'{}' holds no counts of edges; count them with: timewise count -o FILE -- PROGRAM",
        file.display()
    );
    Ok(profile)
}

/// Refuses counts of another program: what it did would stay in the profile.
fn ensure_same(profile: &Profile, file: &Path, program: &Program) -> anyhow::Result<()> {
    let launched = program.launch().program;
    // What cannot be launched is told of when it is.
    let Ok(Ok(executed)) = resolve(&launched).map(std::fs::canonicalize) else { return Ok(()) };
    let run = &profile.runs[0];
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    // Of a script it is one of its interpreter's arguments.
    let mut recorded = run.command.iter().map(|word| path(&run.directory).join(path(word)));
    let mut modules = profile.modules.iter().zip((0..).map(ModuleId));
    let module = modules.find(|(module, _)| path(&module.path) == executed);
    let is_it = module.is_some()
        || recorded.any(|word| std::fs::canonicalize(word).is_ok_and(|word| word == executed));
    ensure!(
        is_it,
        "'{}' holds counts of another program than '{}'; count this one with: timewise count -o FILE -- PROGRAM",
        file.display(),
        launched.display()
    );
    ensure!(
        module.is_none_or(|(module, id)| is_build(profile, module, id, &executed)),
        "'{}' holds counts of another build of '{}'; count this one with: timewise count -o FILE -- PROGRAM",
        file.display(),
        launched.display()
    );
    Ok(())
}

/// Whether a file is the build of a module that was executed: by its id, or where it has none by all code that ran.
fn is_build(profile: &Profile, module: &Module, id: ModuleId, file: &Path) -> bool {
    // What cannot be read is told of when it is executed.
    let Some(build_id) = Headers::of_file(file).map(|headers| headers.build_id) else { return true };
    let holds_code = || Image::open(file).is_ok_and(|image| symbolise::holds_all_code(profile, id, &image));
    module.build_id == build_id && (!build_id.is_empty() || holds_code())
}

/// The run whose edges are counted, and which the user sees.
fn count(mut launch: Launch, input: &Input, outputs: &Outputs) -> anyhow::Result<(Profile, Written)> {
    let ends = outputs.first().context("cannot pass on standard output and error")?;
    (launch.stdout, launch.stderr) = (ends.stdout, ends.stderr);
    launch.stdin = input.first().context("cannot pass on standard input")?;
    let options = timewise_engine::Options { calls: false, ..timewise_engine::Options::default() };
    let profile = recording::record(launch, |stopped| crate::count::watch(stopped, &options));
    let written = ends.record.finish();
    Ok((profile?, written))
}

/// What was counted, in a few words.
fn summary(profile: &Profile, outcome: &Outcome, follows: bool) -> String {
    let Outcome { found: Found { routines, counted, strayed, definite, .. }, elapsed, .. } = outcome;
    // How many paths have no number is not known, but which instructions are on no other path.
    let told = Told::sum(&Coverage::new(&Analysis::new(profile, None)).by_function());
    let share = |of: f64| percent(of / told.all().max(1.0));
    let mut text = format!(
        "{} in {:.2} s: {} through {}, {}; of the instructions, {} are on paths that were \
         counted, {} on paths that edges tell, {} on paths that are not told apart",
        if follows { "followed" } else { "counted" },
        elapsed.as_secs_f64(),
        quantity(profile.paths.len() as u64, "path"),
        quantity(*routines, "function"),
        quantity(*counted, "time"),
        share(told.counted),
        share(told.by_edges),
        share(told.untold),
    );
    if let Some(definite) = definite {
        text += &format!("; {:.2} % of all flow is attributed to the paths that it took", 100.0 * definite);
    }
    if *strayed > 0 {
        text += &format!("; {} went where edges were not counted", grouped(*strayed));
    }
    recording::with_warnings(text, &profile.runs[0])
}
