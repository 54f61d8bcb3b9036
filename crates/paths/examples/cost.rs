//! What counting paths in a program costs: `cost FILE ROUNDS PROGRAM ARGUMENTS…`.
//!
//! For `cargo xtask bench paths`: counts the program's edges, and then runs it natively, under counting of edges alone
//! and under each of the configurations in turn, so many rounds. What the first run prints is all that is printed, and
//! it ends as that run ended. FILE gets a line for each run, of the configuration and the program's CPU time in
//! seconds, and one with `definite` before the configuration for the share of the flow that is attributed to the paths
//! that it took; that is known for sure where each run does the same.

mod functions;
mod repeated;

use repeated::{Repeated, rewind};
use std::ffi::OsString;
use std::fmt::Write;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use timewise_engine::paths::PathCounts;
use timewise_engine::{Counted, Options};
use timewise_flow::{Analysis, RoutineId};
use timewise_paths::accuracy::{Accuracy, compare};
use timewise_paths::{Instruments, Limits, Method, Program};
use timewise_profile::Exit;

type Fault = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(file), Some(rounds), Some(program)) = (arguments.next(), arguments.next(), arguments.next())
    else {
        eprintln!("usage: cost FILE ROUNDS PROGRAM ARGUMENTS…");
        return ExitCode::from(125);
    };
    let rounds = rounds.to_string_lossy().parse().unwrap_or(1);
    repeated::end("cost", run(&file, rounds, program, arguments.collect()))
}

fn run(file: &OsString, rounds: u32, program: OsString, arguments: Vec<OsString>) -> Result<Exit, Fault> {
    let repeated = Repeated { program, arguments };
    let options = Options { calls: false, ..Options::default() };
    let mut first = timewise_engine::count(repeated.launch(), &options)?;
    functions::name(&mut first.profile);
    let analysis = Analysis::new(&first.profile, None);
    let graphs = Program::new(&analysis);
    let plans: Vec<(&str, Instruments)> = Method::COMPARED
        .iter()
        .map(|&(name, method)| (name, Instruments::new(&graphs, &first.profile, method, Limits::default())))
        .collect();
    let again = |paths: Option<&Instruments>| -> Result<(Counted, f64), Fault> {
        let again = repeated.again()?;
        let paths = paths.map(|paths| Arc::new(paths.instrumentation.clone()));
        let before = children_cpu();
        let counted = timewise_engine::count(again, &Options { paths, ..options.clone() })?;
        let cpu = children_cpu() - before;
        if counted.ended.wait_status != first.ended.wait_status || !counted.profile.runs[0].counts_complete {
            return Err("a run went another way than the first".into());
        }
        Ok((counted, cpu))
    };
    let mut out = String::new();
    for round in 0..rounds {
        rewind()?;
        let before = children_cpu();
        let mut native = Command::new(&repeated.program);
        native.args(&repeated.arguments).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        writeln!(out, "native {}", children_cpu() - before)?;
        writeln!(out, "edges {}", again(None)?.1)?;
        let mut truth = None;
        for (name, plan) in &plans {
            let (counted, cpu) = again(Some(plan))?;
            writeln!(out, "{name} {cpu}")?;
            // What PP counts is what there was.
            let truth = truth.get_or_insert((plan, counted.paths.clone()));
            if round == 0 {
                let definite = definite(&graphs, (truth.0, &truth.1), (plan, &counted.paths));
                writeln!(out, "definite {name} {definite}")?;
            }
        }
    }
    std::fs::write(file, out)?;
    Ok(first.profile.runs[0].exit)
}

/// CPU time of all programs that have ended, seconds.
fn children_cpu() -> f64 {
    // SAFETY: all zeros are a valid value, which the call replaces.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// The share of the flow that a configuration attributes to the paths that it took.
fn definite(
    graphs: &Program,
    (all, truth): (&Instruments, &PathCounts),
    (plans, found): (&Instruments, &PathCounts),
) -> f64 {
    let mut accuracy = Accuracy::default();
    for (routine, graph) in (0..).map(RoutineId).zip(&graphs.graphs) {
        let of = |instruments: &Instruments, counts| {
            let plan = instruments.routines[routine.index()].as_ref().map(|routine| routine.plan.clone())?;
            let profile = instruments.tally(routine, counts)?.profile(&plan);
            Some((plan.cuts, profile))
        };
        let (Some(truth), Some(found)) = (of(all, truth), of(plans, found)) else { continue };
        accuracy.add(compare(graph, (&truth.1, &truth.0), (&found.1, &found.0)));
    }
    accuracy.definite()
}
