//! `timewise count`: the counting half alone.

use crate::arguments::{Counting, Output, Program};
use crate::recording;
use timewise_engine::CountError;
use timewise_profile::{Exactness, Exit, Profile};
use timewise_report::number::grouped;
use timewise_target::launch::Stopped;

/// Run a program and count exactly what it executes
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise count -- ./app input
  timewise count -o exact.tw -- ./app < data

The exit status is the program's; 125 if timewise fails, 126 if the program cannot be executed,
127 if there is none. Counts of a program that is killed or crashes are kept.")]
pub struct Arguments {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    counting: Counting,
    #[command(flatten)]
    program: Program,
}

/// Runs the command, to the end of the program.
pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    arguments.output.begin()?;
    let options = arguments.counting.options();
    let profile = recording::record(arguments.program.launch(), |stopped| watch(stopped, &options))?;
    let exit = profile.runs[0].exit;
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

/// What was counted, in a few words, and what limits it.
fn summary(profile: &Profile) -> String {
    let run = &profile.runs[0];
    let instructions: u64 = profile.threads.iter().filter_map(|thread| thread.instructions).sum();
    let exact = match profile.exactness() {
        Exactness::Exact => "exact".to_string(),
        Exactness::Within(most) => format!("executions of a block exact to within {most}"),
        Exactness::Incomplete => "incomplete".to_string(),
    };
    let seconds = run.elapsed_ns as f64 / 1e9;
    let text = format!("counted in {seconds:.2} s: {} instructions, {exact}", grouped(instructions));
    recording::with_warnings(text, run)
}
