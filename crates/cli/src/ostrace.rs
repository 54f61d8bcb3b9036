//! `timewise ostrace`: what the operating system does for programs.

mod record;

use clap::Subcommand;
use std::process::ExitCode;

use crate::exit_status;

/// Record what the operating system does for a program
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Record(record::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> ExitCode {
    match &arguments.command {
        Command::Record(arguments) => exit_status::of_running(record::run(arguments)),
    }
}
