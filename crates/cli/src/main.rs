//! The `timewise` command: arguments, progress, wiring and exit codes; no analysis of its own.

mod annotate;
mod arguments;
mod count;
mod doctor;
mod exit_status;
mod prepare;
mod progress;
mod reading;
mod recording;
mod report;
mod run;
mod sample;
mod screen;
mod signals;
mod sources;
mod standstill;
mod symbolise;
mod talk;
mod ticker;
mod twice;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

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
    Report(report::Arguments),
    Annotate(annotate::Arguments),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return exit_status::misused(&error),
    };
    match arguments.command {
        Command::Doctor(arguments) => exit_status::of_reading(doctor::run(&arguments)),
        Command::Run(arguments) => exit_status::of_running(run::run(&arguments)),
        Command::Sample(arguments) => exit_status::of_running(sample::run(&arguments)),
        Command::Count(arguments) => exit_status::of_running(count::run(&arguments)),
        Command::Report(arguments) => exit_status::of_reading(report::run(&arguments)),
        Command::Annotate(arguments) => exit_status::of_reading(annotate::run(&arguments)),
    }
}
