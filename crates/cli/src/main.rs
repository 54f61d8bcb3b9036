//! The `timewise` command: arguments, progress, wiring and exit codes; no analysis of its own.

mod annotate;
mod arguments;
mod doctor;
mod exit_status;
mod output_file;
mod reading;
mod report;
mod sample;
mod screen;
mod signals;
mod symbolise;

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
    Annotate(annotate::Arguments),
    Doctor(doctor::Arguments),
    Report(report::Arguments),
    Sample(sample::Arguments),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return exit_status::misused(&error),
    };
    match arguments.command {
        Command::Annotate(arguments) => annotate::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Sample(arguments) => sample::run(&arguments),
    }
}
