//! `cargo xtask bench`: what timewise itself costs.

mod builds;
mod chart;
mod compared;
mod cpi;
mod fdo;
mod forks;
mod memory;
mod microbenchmarks;
mod once;
mod overhead;
mod paths;
mod periods;
mod profilers;
mod report;
mod samples;
mod simulation;
mod startup;
mod statistics;
mod stops;
mod symbolise;
pub mod table;
mod threads;
mod timers;
mod traces;
mod tracing;

pub use statistics::{median, median_interval};

use anyhow::Result;
use clap::Subcommand;
use std::path::Path;

/// What to measure.
#[derive(Subcommand)]
pub enum Command {
    /// CPU time of sampling and counting against native, and the time from Enter to the report
    Overhead(overhead::Options),
    /// CPU time of counting paths, all of them or those that edges do not tell, against counting edges alone
    Paths(paths::Options),
    /// How much faster programs get by traced branches, and by exact counts
    Fdo(fdo::Options),
    /// CPU time of branch tracing by its rate, and of a breakpoint among threads
    Tracing(tracing::Options),
    /// CPU time of a trace of branches by the number of a program's threads
    Traces(traces::Options),
    /// What a sample takes where it falls, whether it traces or does nothing
    Stops(stops::Options),
    /// Peak resident memory of programs under count against native
    Memory(memory::Options),
    /// Time until a program that does nothing has ended, and CPU time of short runs of much code
    Startup(startup::Options),
    /// Time of processes that a program forks one after the other
    Forks(forks::Options),
    /// CPU time of a thread among many against one alone, and whether its counts are exact
    Threads(threads::Options),
    /// How far profilers that sample are from what a modelled core spends, beside the papers' figures
    Profilers(profilers::Options),
    /// How the errors of such profilers depend on how often they sample
    Periods(periods::Options),
    /// Cycles per instruction of programs natively and as a core model has them
    Cpi(cpi::Options),
    /// Loops of known latency and throughput natively and as a core model has them
    Microbenchmarks(microbenchmarks::Options),
    /// Whether a core model tells which of two builds is faster
    Builds(builds::Options),
    /// What profilers find in a modelled core beside samples that timers take
    Timers(timers::Options),
    /// How fast a core is simulated, and what workers cost that look at it
    Simulation(simulation::Options),
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
        Command::Paths(options) => paths::run(root, &options),
        Command::Fdo(options) => fdo::run(root, &options),
        Command::Tracing(options) => tracing::run(root, &options),
        Command::Traces(options) => traces::run(root, &options),
        Command::Stops(options) => stops::run(root, &options),
        Command::Memory(options) => memory::run(root, &options),
        Command::Startup(options) => startup::run(root, &options),
        Command::Forks(options) => forks::run(root, &options),
        Command::Threads(options) => threads::run(root, &options),
        Command::Profilers(options) => profilers::run(root, &options),
        Command::Periods(options) => periods::run(root, &options),
        Command::Cpi(options) => cpi::run(root, &options),
        Command::Microbenchmarks(options) => microbenchmarks::run(root, &options),
        Command::Builds(options) => builds::run(root, &options),
        Command::Timers(options) => timers::run(root, &options),
        Command::Simulation(options) => simulation::run(root, &options),
        Command::Symbolise(options) => symbolise::run(root, &options),
        Command::Report(options) => report::run(root, &options),
    }
}
