//! Project chores: `cargo xtask COMMAND`. One folder or file a chore; `--help` lists them.

mod bench;
mod check;
mod confine;
mod counter;
mod dist;
mod folder;
mod fuzz;
mod generate;
mod profiler;
mod suite;
mod tidy;
mod usage;

use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Chores of the timewise project.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Checks that the sources keep the rules of the house
    Tidy,
    /// Lists and runs the programs of suite/
    #[command(subcommand)]
    Suite(suite::Command),
    /// Compares counted runs with native ones and with independent counts
    #[command(subcommand)]
    Check(check::Command),
    /// Tries random inputs
    #[command(subcommand)]
    Fuzz(fuzz::Command),
    /// Runs a program as a user without rights in a container
    Confine(confine::Options),
    /// Makes one static executable to carry, in an archive with its manual pages and completions
    Dist(dist::Options),
    /// Makes files of the repository that a program makes
    #[command(subcommand)]
    Generate(generate::Command),
    /// Measures timewise itself
    #[command(subcommand)]
    Bench(bench::Command),
}

/// The workspace's root folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}

fn main() -> ExitCode {
    let done = match Arguments::parse().chore {
        Chore::Tidy => tidy::run(&root()),
        Chore::Suite(command) => suite::run(&root(), command),
        Chore::Check(command) => check::run(&root(), command),
        Chore::Fuzz(command) => fuzz::run(&root(), &command),
        Chore::Dist(options) => dist::run(&root(), &options),
        Chore::Confine(options) => confine::run(&options),
        Chore::Generate(command) => generate::run(&root(), &command),
        Chore::Bench(command) => bench::run(&root(), command),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Not returned from main: a backtrace says nothing to who mistyped a name.
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
