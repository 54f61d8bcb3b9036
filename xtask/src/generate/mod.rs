//! `cargo xtask generate`: files of the repository that are made by a program.

mod encodings;
mod instructions;
mod pressure;
mod scheduling;

use anyhow::Result;
use clap::Subcommand;
use std::path::Path;

/// What to make.
#[derive(Subcommand)]
pub enum Command {
    /// The core model's table of µops, latencies and ports, from LLVM's scheduling models (needs llvm-19)
    Instructions,
}

/// Makes a file anew.
///
/// # Errors
/// If a tool is missing or fails, or the file cannot be written.
pub fn run(root: &Path, command: &Command) -> Result<()> {
    match command {
        Command::Instructions => instructions::generate(root),
    }
}
