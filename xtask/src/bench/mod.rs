//! `cargo xtask bench`: what timewise itself costs.

mod overhead;
mod statistics;

pub use statistics::median;

use anyhow::Result;
use clap::Subcommand;
use std::path::Path;

/// What to measure.
#[derive(Subcommand)]
pub enum Command {
    /// CPU time of sampling and counting against native, and the time from Enter to the report
    Overhead(overhead::Options),
}

/// Carries out the measurement.
///
/// # Errors
/// If something cannot be run.
pub fn run(root: &Path, command: Command) -> Result<()> {
    match command {
        Command::Overhead(options) => overhead::run(root, &options),
    }
}
