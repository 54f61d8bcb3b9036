//! The `timewise` command: arguments, progress, wiring and exit codes; no analysis of its own.

mod annotate;
mod arguments;
mod attached;
mod branches;
mod call_graph;
mod completions;
mod count;
mod destination;
mod diff;
mod doctor;
mod exit_status;
mod export;
mod fdo;
mod import;
mod in_turns;
mod manual;
mod pager;
mod paths;
mod prepare;
mod progress;
mod reading;
mod recording;
mod report;
mod run;
mod sample;
mod screen;
mod settings;
mod signals;
mod simulate;
mod sources;
mod standstill;
mod symbolise;
mod talk;
mod ticker;
mod twice;
mod verify;
mod written;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;
use std::thread;

/// Tells where a program's cycles go and why, on unmodified Linux binaries.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Doctor(doctor::Arguments),
    Run(run::Arguments),
    Sample(sample::Arguments),
    Count(count::Arguments),
    Branches(branches::Arguments),
    Paths(paths::Arguments),
    Simulate(simulate::Arguments),
    Report(report::Arguments),
    Annotate(annotate::Arguments),
    Export(export::Arguments),
    Fdo(fdo::Arguments),
    Import(import::Arguments),
    Diff(diff::Arguments),
    Verify(verify::Arguments),
    Completions(completions::Arguments),
    #[command(hide = true)]
    Manual(manual::Arguments),
}

/// What our own work needs: a user's limit on stacks is meant for programs.
const STACK_BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    exit_status::tell_faults_in_a_line();
    match thread::Builder::new().stack_size(STACK_BYTES).spawn(run_command) {
        Ok(thread) => exit_status::of_fault(thread.join()),
        Err(error) => exit_status::failed(&anyhow::anyhow!(
            "cannot start a thread: {error}; allow more processes or memory: ulimit -u, ulimit -v"
        )),
    }
}

fn run_command() -> ExitCode {
    signals::outlive_file_limit();
    let command = match settings::apply(Arguments::command()) {
        Ok(command) => command,
        Err(error) => return exit_status::unsettled(&error),
    };
    let parsed = command.try_get_matches().and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => return exit_status::misused(&error),
    };
    match arguments.command {
        Command::Doctor(arguments) => exit_status::of_reading(doctor::run(&arguments)),
        Command::Run(arguments) => exit_status::of_running(run::run(&arguments)),
        Command::Sample(arguments) => exit_status::of_running(sample::run(&arguments)),
        Command::Count(arguments) => exit_status::of_running(count::run(&arguments)),
        Command::Branches(arguments) => exit_status::of_running(branches::run(&arguments)),
        Command::Paths(arguments) => exit_status::of_running(paths::run(&arguments)),
        Command::Simulate(arguments) => exit_status::of_running(simulate::run(&arguments)),
        Command::Report(arguments) => exit_status::of_reading(report::run(&arguments)),
        Command::Annotate(arguments) => exit_status::of_reading(annotate::run(&arguments)),
        Command::Export(arguments) => exit_status::of_reading(export::run(&arguments)),
        Command::Fdo(arguments) => exit_status::of_gates(fdo::run(&arguments)),
        Command::Import(arguments) => exit_status::of_reading(import::run(&arguments)),
        Command::Diff(arguments) => exit_status::of_gates(diff::run(&arguments)),
        Command::Verify(arguments) => exit_status::of_gates(verify::run(&arguments)),
        Command::Completions(arguments) => exit_status::of_reading(completions::run(&arguments)),
        Command::Manual(arguments) => exit_status::of_reading(manual::run(&arguments)),
    }
}
