//! `timewise ostrace`: what the operating system does for programs.

mod code;
mod compare;
mod record;
mod report;

use crate::exit_status;
use crate::talk::complain;
use std::path::Path;
use std::process::ExitCode;
use timewise_eventtree::truncated;
use timewise_profile::Profile;

/// Record what the operating system does for a program, and compare two programs by it
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Record(record::Arguments),
    Report(report::Arguments),
    Compare(compare::Arguments),
}

/// Does what was asked for.
pub fn run(arguments: &Arguments) -> ExitCode {
    match &arguments.command {
        Command::Record(arguments) => exit_status::of_running(record::run(arguments)),
        Command::Report(arguments) => exit_status::of_reading(report::run(arguments)),
        Command::Compare(arguments) => exit_status::of_gates(compare::run(arguments)),
    }
}

/// A profile that has events.
fn load(path: &Path) -> anyhow::Result<Profile> {
    let profile = Profile::load(path)?;
    if profile.os_events.is_empty() {
        anyhow::bail!(
            "'{}' holds no events of the operating system; record some: timewise ostrace record -- PROGRAM",
            path.display()
        );
    }
    if let Some(lost) = truncated(&profile) {
        complain(format_args!(
            "warning: '{}' lacks {lost} events of a run, for which there was no room: its tree ends before the run did",
            path.display()
        ));
    }
    Ok(profile)
}
