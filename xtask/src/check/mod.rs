//! `cargo xtask check`: what the engine must not change, and what it counts, against independent witnesses.

mod torture;
mod transparency;

use anyhow::Result;
use clap::Subcommand;
use std::path::Path;

/// Which check.
#[derive(Subcommand)]
pub enum Command {
    /// Same output and exit status under count as natively: suite/torture, and the suite if it is built
    Transparency(transparency::Options),
}

/// Carries out the check.
///
/// # Errors
/// If something differs that must not.
pub fn run(root: &Path, command: Command) -> Result<()> {
    match command {
        Command::Transparency(options) => transparency::run(root, &options),
    }
}
