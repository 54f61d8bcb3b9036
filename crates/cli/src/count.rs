//! `timewise count`: the counting half alone.

use crate::arguments::{Output, Program};
use crate::{exit_status, output_file, signals, symbolise};
use std::process::ExitCode;
use timewise_profile::{Exit, Profile, Run};
use timewise_report::number::grouped;
use timewise_target::launch::Launch;

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
    program: Program,
}

/// Runs the command to its exit status.
pub fn run(arguments: &Arguments) -> ExitCode {
    match try_run(arguments) {
        Ok(exit) => exit_status::like(exit),
        Err(error) => exit_status::fail(&error),
    }
}

fn try_run(arguments: &Arguments) -> anyhow::Result<Exit> {
    output_file::check(&arguments.output.path)?;
    let mut profile = record(arguments.program.launch())?;
    let unknown = symbolise::symbolise(&mut profile);
    profile.runs[0].warnings.extend(unknown);
    let run = &profile.runs[0];
    eprintln!("{}", summary(run, &profile));
    for warning in &run.warnings {
        eprintln!("warning: {warning}");
    }
    profile.save(&arguments.output.path)?;
    eprintln!("saved as {}", arguments.output.path.display());
    Ok(run.exit)
}

/// Runs a program under count to its end.
///
/// # Errors
/// If it cannot be launched or counted.
pub fn record(launch: Launch) -> anyhow::Result<Profile> {
    let stopped = launch.stopped()?;
    signals::leave_to(stopped.pid());
    let counted = timewise_engine::record(stopped, &timewise_engine::Options::default());
    signals::program_ended();
    Ok(counted?.profile)
}

/// What was counted, in a few words.
fn summary(run: &Run, profile: &Profile) -> String {
    let instructions: u64 = profile.threads.iter().filter_map(|thread| thread.instructions).sum();
    let inexact: u32 = profile.processes.iter().map(|process| process.count_uncertainty).sum();
    let exact = match inexact {
        0 => "exact".to_string(),
        _ => format!("executions of a block exact to within {inexact}"),
    };
    let seconds = run.elapsed_ns as f64 / 1e9;
    format!("counted in {seconds:.2} s: {} instructions, {exact}", grouped(instructions))
}
