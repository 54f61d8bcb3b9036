//! `timewise count`: the counting half alone.

use crate::arguments::{Counting, Output};
use crate::attached::{Profiled, Subject, enough};
use crate::{progress, recording, signals};
use std::time::Duration;
use timewise_engine::CountError;
use timewise_profile::{Exactness, Exit, Profile};
use timewise_report::number::quantity;
use timewise_target::launch::Stopped;

/// Count exactly what a program executes, from its start or while it runs
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise count -- ./app input
  timewise count -o exact.tw -- ./app < data
  timewise count --pid 1234 --for 10s       a program that runs already, which then runs on

The exit status is the program's; 125 if timewise fails, 126 if the program cannot be executed or
attached to, 127 if there is none; 0 for one that was attached to. Counts of a program that is
killed or crashes are kept.")]
pub struct Arguments {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    counting: Counting,
    #[command(flatten)]
    pub profiled: Profiled,
}

/// Runs the command, to the end of the program.
pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    arguments.output.begin()?;
    let options = arguments.counting.options();
    let (profile, exit) = match arguments.profiled.subject()? {
        Subject::Program(program) => {
            let profile = recording::record(program.launch(), |stopped| watch(stopped, &options))?;
            let exit = profile.runs[0].exit;
            (profile, exit)
        }
        Subject::Process(..) if options.intervals.is_some() => {
            anyhow::bail!(
                "intervals are taken of programs from their start; leave out --intervals, or launch it"
            )
        }
        Subject::Process(pid, time) => (attach(pid, time, &options)?, Exit::Code(0)),
    };
    recording::keep(profile, &arguments.output, summary)?;
    Ok(exit)
}

/// Counts a program to its end.
///
/// # Errors
/// If it cannot be counted.
pub fn watch(stopped: Stopped, options: &timewise_engine::Options) -> Result<Profile, CountError> {
    Ok(timewise_engine::record(stopped, options)?.profile)
}

/// Counts a process that runs already, until we are asked to stop at the latest.
///
/// # Errors
/// If it cannot be attached to.
pub fn attach(pid: i32, time: Duration, options: &timewise_engine::Options) -> Result<Profile, CountError> {
    let _attached = signals::attached();
    let _shown = progress::show_until("counting", Some(time));
    Ok(timewise_engine::attach(pid, time, options, |_| enough())?.profile)
}

/// What was counted, in a few words, and what limits it.
pub fn summary(profile: &Profile) -> String {
    let run = &profile.runs[0];
    let instructions: u64 = profile.threads.iter().filter_map(|thread| thread.instructions).sum();
    let exact = match profile.exactness() {
        Exactness::Exact => "exact".to_string(),
        Exactness::Within(most) => format!("executions of a block exact to within {most}"),
        Exactness::Incomplete => "incomplete".to_string(),
    };
    let seconds = run.elapsed_ns as f64 / 1e9;
    let text = format!("counted in {seconds:.2} s: {}, {exact}", quantity(instructions, "instruction"));
    recording::with_warnings(text, run)
}
