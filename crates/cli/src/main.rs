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
mod listener;
mod manual;
mod memory;
mod mix;
mod numbers;
mod ostrace;
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
mod simpoint;
mod simulate;
mod sources;
mod standstill;
mod symbolise;
mod talk;
mod ticker;
mod twice;
mod unnamed;
mod verify;
mod waste;
mod written;

use anyhow::Context;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;
use std::thread;
use timewise_target::keeper::{self, Side};

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
    Simpoint(simpoint::Arguments),
    Mix(mix::Arguments),
    Waste(waste::Arguments),
    Ostrace(ostrace::Arguments),
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
    memory::end_with(exit_status::of_failure());
    exit_status::tell_faults_in_a_line();
    signals::outlive_file_limit();
    let command = match with_room(parse) {
        Ok(command) => command,
        Err(status) => return status,
    };
    // Better than to begin, and to end a program by having none in it.
    if exit_status::of_failure() == exit_status::OURS && memory::is_too_little() {
        memory::end();
    }
    if command.takes_over() {
        let held = signals::hold();
        // SAFETY: the thread that parsed has ended, so this one is alone.
        match unsafe { keeper::split() } {
            Ok(Side::Started(keeper)) => return stand_by(keeper, held),
            Ok(Side::Keeper) => drop(held),
            Err(error) => return exit_status::none_to_start("process", &error),
        }
    }
    with_room(|| Ok(command.run())).unwrap_or_else(|status| status)
}

/// Does `work` on a thread of its own, or tells the status where it is said why it could not be done.
fn with_room<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ExitCode> + Send + 'static,
) -> Result<T, ExitCode> {
    match thread::Builder::new().stack_size(STACK_BYTES).spawn(work) {
        Ok(thread) => exit_status::or_of_fault(thread.join()),
        Err(error) => Err(exit_status::none_to_start("thread", &error)),
    }
}

/// What is asked of us, or the status where that was told already.
fn parse() -> Result<Command, ExitCode> {
    let command = settings::apply(Arguments::command()).map_err(|error| exit_status::unsettled(&error))?;
    let matches = command.try_get_matches();
    let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    arguments.map(|arguments| arguments.command).map_err(|error| exit_status::misused(&error))
}

/// Hands on to our keeper what we are asked by signals, those that were held included, and ends as it does.
fn stand_by(keeper: i32, held: signals::Held) -> ExitCode {
    signals::leave_to(keeper);
    drop(held);
    let ended = keeper::wait(keeper);
    signals::program_ended();
    exit_status::of_running(ended.context("cannot wait for the process that does the work"))
}

impl Command {
    /// Whether a program that runs already is taken over, which must be given back.
    fn takes_over(&self) -> bool {
        match self {
            Command::Run(run::Arguments { profiled, .. })
            | Command::Count(count::Arguments { profiled, .. })
            | Command::Branches(branches::Arguments { profiled, .. })
            | Command::Paths(paths::Arguments { profiled, .. }) => profiled.is_process(),
            _ => false,
        }
    }

    fn run(self) -> ExitCode {
        match self {
            Command::Doctor(arguments) => {
                let done = doctor::run(&arguments);
                signals::no_more_programs();
                exit_status::of_reading(done)
            }
            Command::Run(arguments) => exit_status::of_running(run::run(&arguments)),
            Command::Sample(arguments) => exit_status::of_running(sample::run(&arguments)),
            Command::Count(arguments) => exit_status::of_running(count::run(&arguments)),
            Command::Branches(arguments) => exit_status::of_running(branches::run(&arguments)),
            Command::Paths(arguments) => exit_status::of_running(paths::run(&arguments)),
            Command::Simulate(arguments) => exit_status::of_running(simulate::run(&arguments)),
            Command::Simpoint(arguments) => exit_status::of_reading(simpoint::run(&arguments)),
            Command::Mix(arguments) => exit_status::of_reading(mix::run(&arguments)),
            Command::Waste(arguments) => exit_status::of_reading(waste::run(&arguments)),
            Command::Ostrace(arguments) => ostrace::run(&arguments),
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
}
