//! `timewise ostrace record`: a program runs, once or several times, and what the system does for it is recorded.

use crate::arguments::{DEFAULT_FILE, Output, Program};
use crate::attached::{Profiled, Subject, enough};
use crate::screen::{self, Colour};
use crate::talk::say;
use crate::twice::{Input, Outputs, Written};
use crate::{prepare, progress, recording, signals};
use anyhow::{Context, anyhow};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;
use timewise_eventtree::calls;
use timewise_injection::await_uncounted;
use timewise_ostrace::{Options, RecordError, price};
use timewise_profile::{Exit, Profile};
use timewise_report::events;
use timewise_report::number::quantity;
use timewise_report::visible::visible;
use timewise_target::attachable;
use timewise_target::launch::Launch;
use timewise_target::untraceable::Untraceable;

/// Record what the operating system does for a program and all processes that descend from it, from its start or while it
/// runs
#[derive(clap::Args)]
#[command(after_help = "\
Each thread is stopped by ptrace where it enters and leaves a system call, which takes time; how much is
said. With --rounds, the program runs several times; what is to be the same each time must be put back
before each: --prepare. Only what the first run writes is shown. With --pid, a program that runs already
is recorded for a time, and runs on.

Examples:
  timewise ostrace record -- ./app input
  timewise ostrace record --rounds 5 -o base.tw -- ./app input
  timewise ostrace record --stacks -- ./app input
  timewise ostrace record --pid 1234 --for 10s

The exit status is the program's; 125 if timewise fails, 126 if the program cannot be executed or
attached to, 127 if there is none; 0 for one that was attached to. What is recorded is described in docs/ostrace.md.")]
pub struct Arguments {
    #[command(flatten)]
    output: Output,
    /// Run the program so many times, to tell what is the same each time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(conflicts_with = "pid")]
    rounds: u32,
    /// Command for the shell to run before each of the runs
    #[arg(long, value_name = "COMMAND", conflicts_with = "pid")]
    prepare: Option<OsString>,
    /// Record the call stack of each event, to tell which functions made the calls; that makes them take longer
    #[arg(short = 'k', long)]
    stacks: bool,
    #[command(flatten)]
    profiled: Profiled,
}

/// Events of all rounds that are kept at most: some hundreds of megabytes. Their table grows by doubling.
const MOST_EVENTS: usize = 1 << 22;

/// Calls that are told of.
const TOP_CALLS: usize = 5;

/// Runs the command, to the end of the program's last run.
pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    arguments.output.begin()?;
    let price = price(arguments.stacks).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => anyhow!("cannot trace programs here: {}", Untraceable::here()),
        _ => anyhow!("cannot trace a process of our own: {error}"),
    })?;
    let options = Options { most_events: MOST_EVENTS, price, stacks: arguments.stacks };
    let (profile, exit) = match arguments.profiled.subject()? {
        Subject::Program(program) => launched(arguments, program, options)?,
        Subject::Process(pid, time) => (attach(pid, time, &options)?, Exit::Code(0)),
    };
    let place = recording::keep(profile, &arguments.output, summary)?;
    if place == arguments.output.path {
        say(next(&place));
    }
    Ok(exit)
}

/// A process that runs already, until we are asked to stop at the latest.
fn attach(pid: i32, time: Duration, options: &Options) -> Result<Profile, RecordError> {
    attachable::exists(pid)?;
    let _attached = signals::attached();
    // What timewise put into it is none of the program.
    await_uncounted(pid)?;
    let _shown = progress::show_until("recording", Some(time));
    timewise_ostrace::attach(pid, time, options, enough)
}

/// All runs of a program, and how it ended.
fn launched(arguments: &Arguments, program: &Program, options: Options) -> anyhow::Result<(Profile, Exit)> {
    let several = arguments.rounds > 1;
    // What a program that runs once does not read is left to whoever reads next.
    let input = if several { Input::of_process()? } else { Input::Inherited };
    let outputs = Outputs::of_process().context("cannot examine standard output and error")?;
    let (mut profile, first) = first_run(arguments, program, (&input, &outputs), options)?;
    let mut exit = profile.runs[0].exit;
    let interrupted = signals::interruption_behind(exit);
    for round in 1..arguments.rounds {
        if profile.runs[0].lost_samples > 0 {
            profile.runs[0]
                .warnings
                .push("ended after 1 round: there is no room for events of others".into());
            break;
        }
        if interrupted.is_some() || signals::interruption().is_some() {
            profile.runs[0].warnings.push(format!("interrupted after {}", quantity(round.into(), "round")));
            break;
        }
        let shown = progress::show("recording again");
        let again = further_run(arguments, program, (&input, &outputs), (&profile, &first), options);
        drop(shown);
        match again {
            Ok(again) => {
                if !keep_whole(&mut profile, again) {
                    break;
                }
            }
            Err(error) => {
                profile.runs[0]
                    .warnings
                    .push(format!("ended after {}: {error:#}", quantity(round.into(), "round")));
                break;
            }
        }
    }
    if several && let Some(signal) = signals::interruption() {
        exit = Exit::Signal(signal);
    }
    Ok((profile, exit))
}

/// Adds a further round, unless events of it were not kept: it would differ from the others in all that came behind them.
/// Whether it was added.
fn keep_whole(profile: &mut Profile, again: Profile) -> bool {
    if again.runs[0].lost_samples == 0 {
        profile.append(again);
        return true;
    }
    let rounds = quantity(profile.runs.len() as u64, "round");
    profile.runs[0].warnings.push(format!(
        "ended after {rounds}: there was no room for all events of another, which is not kept"
    ));
    false
}

/// The run that the user sees.
fn first_run(
    arguments: &Arguments,
    program: &Program,
    (input, outputs): (&Input, &Outputs),
    options: Options,
) -> anyhow::Result<(Profile, Written)> {
    prepare::run(arguments.prepare.as_deref())?;
    let mut launch = program.launch();
    if arguments.rounds == 1 {
        return Ok((recorded(launch, options)?, Written::default()));
    }
    let ends = outputs.first().context("cannot pass on standard output and error")?;
    (launch.stdout, launch.stderr) = (ends.stdout, ends.stderr);
    launch.stdin = input.first().context("cannot pass on standard input")?;
    let profile = recorded(launch, options);
    let written = ends.record.finish();
    let mut profile = profile?;
    profile.runs[0].stdout_hash = written.stdout.map(|stdout| stdout.hash());
    Ok((profile, written))
}

/// A run after others, the first of which wrote `first`.
fn further_run(
    arguments: &Arguments,
    program: &Program,
    (input, outputs): (&Input, &Outputs),
    (others, first): (&Profile, &Written),
    options: Options,
) -> anyhow::Result<Profile> {
    prepare::run(arguments.prepare.as_deref())?;
    let mut launch = program.launch();
    let (stdin, other_input) = input.again()?;
    launch.stdin = stdin;
    let ends = outputs.again(first).context("cannot capture the output of a further run")?;
    (launch.stdout, launch.stderr) = (ends.stdout, ends.stderr);
    let profile = recorded(
        launch,
        Options { most_events: MOST_EVENTS.saturating_sub(others.os_events.len()), ..options },
    );
    let written = ends.record.finish();
    let mut profile = profile?;
    let run = &mut profile.runs[0];
    run.stdout_hash = written.stdout.map(|stdout| stdout.hash());
    run.warnings.extend(other_input);
    if (run.exit, run.stdout_hash, written.stderr)
        != (others.runs[0].exit, others.runs[0].stdout_hash, first.stderr)
    {
        run.warnings.push("the runs differ: they wrote something else, or ended otherwise".into());
    }
    Ok(profile)
}

fn recorded(launch: Launch, options: Options) -> anyhow::Result<Profile> {
    recording::record(launch, |stopped| timewise_ostrace::record(stopped, &options))
}

/// What was recorded, in a few words, and what limits it.
fn summary(profile: &Profile) -> String {
    let run = &profile.runs[0];
    let rounds = match profile.runs.len() {
        1 => String::new(),
        rounds => format!(" (the first of {rounds} rounds)"),
    };
    let of_all = profile.runs.len() > 1;
    let text = format!(
        "recorded in {:.2} s{rounds}: {} of {} in {}{}\n{}",
        run.elapsed_ns as f64 / 1e9,
        quantity(profile.os_events.len() as u64, "event"),
        quantity(profile.threads.len() as u64, "thread"),
        quantity(profile.processes.len() as u64, "process"),
        if of_all { ", all rounds together" } else { "" },
        top_calls(profile)
    );
    let text = recording::with_warnings(text, run);
    // What recording costs is said of the first.
    let others = profile.runs.iter().enumerate().skip(1);
    let others = others.flat_map(|(at, run)| run.warnings.iter().skip(1).map(move |said| (at + 1, said)));
    let line = |(round, said): (usize, &String)| format!("\nwarning: round {round}: {}", visible(said));
    text + &others.map(line).collect::<String>()
}

/// The calls that took most time, of all rounds together.
fn top_calls(profile: &Profile) -> String {
    let rows = calls(profile);
    let style = screen::style(&std::io::stderr(), Colour::Never);
    let text = events::calls_table(&rows[..rows.len().min(TOP_CALLS)], &rows, 1).render(style);
    text.trim_end().to_string()
}

/// What to ask next.
fn next(output: &Path) -> String {
    let path = visible(&output.to_string_lossy()).into_owned();
    let file = if path == DEFAULT_FILE { String::new() } else { format!(" {path}") };
    format!("Next: timewise ostrace report{file}, or timewise ostrace compare {path} OTHER")
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::{Run, RunKind};

    fn round(lost_samples: u64) -> Profile {
        Profile { runs: vec![Run { lost_samples, ..Run::new(RunKind::Events) }], ..Profile::default() }
    }

    #[test]
    fn a_round_without_all_its_events_is_none() {
        let mut profile = round(0);
        assert!(keep_whole(&mut profile, round(0)) && !keep_whole(&mut profile, round(1)));
        assert_eq!(profile.runs.len(), 2);
        assert!(profile.runs[0].warnings[0].starts_with("ended after 2 rounds: "));
    }
}
