//! `cargo xtask bench`: what timewise itself costs.

mod overhead;
mod report;
mod statistics;
mod symbolise;

pub use statistics::{median, median_interval};

use anyhow::Result;
use clap::Subcommand;
use std::path::Path;

/// What to measure.
#[derive(Subcommand)]
pub enum Command {
    /// CPU time of sampling and counting against native, and the time from Enter to the report
    Overhead(overhead::Options),
    /// Time and memory to find functions, lines and inlined calls of a million addresses
    Symbolise(symbolise::Options),
    /// Time until a report of a large profile begins
    Report(report::Options),
}

/// Carries out the measurement.
///
/// # Errors
/// If something cannot be run.
pub fn run(root: &Path, command: Command) -> Result<()> {
    match command {
        Command::Overhead(options) => overhead::run(root, &options),
        Command::Symbolise(options) => symbolise::run(root, &options),
        Command::Report(options) => report::run(root, &options),
    }
}
