//! `cargo xtask check`: what the engine must not change, and what it counts, against independent witnesses; what
//! comparisons and hints find in programs whose flaws are known.

mod accesses;
mod agreement;
mod attempts;
mod branches;
mod callgrind;
mod cases;
mod changes;
mod diff;
mod executions;
mod exports;
mod fdo;
mod gate;
mod html;
mod imports;
mod lessons;
pub mod native;
mod ostrace;
pub mod paths;
mod perf;
mod segments;
mod simpoint;
mod singlestep;
mod stepper;
mod stops;
mod streams;
mod stress;
mod torture;
mod transparency;
mod unprivileged;
mod upstream;
mod waste;
mod windows;

pub use fdo::llvm;

use anyhow::{Context, Result, ensure};
use clap::Subcommand;
use std::path::Path;

/// Which check.
#[derive(Subcommand)]
pub enum Command {
    /// Same output and exit status under count as natively: suite/torture, and the suite if it is built
    Transparency(transparency::Options),
    /// Executions of every instruction equal Valgrind's callgrind's
    Callgrind(callgrind::Options),
    /// Shares of functions, alone and with what they call, equal those of perf within the sampling error
    Perf(perf::Options),
    /// Basic block vectors agree with those of Valgrind's exp-bbv, and the points chosen by them stand for the whole
    Simpoint(simpoint::Options),
    /// Executions of every instruction equal those of a single-stepped run
    Singlestep(singlestep::Options),
    /// Streamed instructions and memory accesses equal those of a single-stepped run, in windows too
    Accesses(accesses::Options),
    /// `timewise diff` names a planted change first, and finds none between equal builds
    Diff(diff::Options),
    /// Every branch that tracing saw is one that counting saw, and their shares agree
    Branches(branches::Options),
    /// Hints name known flaws, and `timewise diff` explains what mending them gains
    Cases(cases::Options),
    /// Every export is understood by the program that it is for
    Exports(exports::Options),
    /// BOLT and llvm-profgen find no fault with traced branches
    Fdo(fdo::Options),
    /// A gate on modelled cycles names planted regressions with their reason, and passes equal builds
    Gate(gate::Options),
    /// A modelled core blames what is at fault in programs after the thesis's case studies, and mending it gains
    Lessons(lessons::Options),
    /// An imported recording of perf has the same hottest functions as one of our own
    Import(imports::Options),
    /// What is replayed from streams was counted as often, and no program is changed by streaming
    Streams(streams::Options),
    /// PP counts the paths that were taken, and TPP finds out nearly all of them; the tables of the paper
    Paths(paths::Options),
    /// Recorded system calls are those that strace tells, of programs that are not changed; and what recording costs
    Ostrace(ostrace::Options),
    /// The stressors of stress-ng find no fault in what the system does for them under count
    Stress(stress::Options),
    /// Sampling by stops changes no program and sees what performance events see
    Stops(stops::Options),
    /// The test suites of perl, of a C++ library and of a JIT compiler end under count as natively
    Upstream(upstream::Options),
    /// Programs do the same without the instructions that `timewise waste` calls useless
    Waste(waste::Options),
    /// Limits that windows of a simulation give hold the cycles per instruction of the whole
    Windows(windows::Options),
    /// The main job works for a user without rights in a container
    Unprivileged(unprivileged::Options),
    /// The page of `report --format html` in a browser: clicks, search, keys, and a hundred thousand rows
    Html(html::Options),
}

/// Carries out the check.
///
/// # Errors
/// If something differs that must not.
pub fn run(root: &Path, command: Command) -> Result<()> {
    match command {
        Command::Transparency(options) => transparency::run(root, &options),
        Command::Callgrind(options) => callgrind::run(root, &options),
        Command::Perf(options) => perf::run(root, &options),
        Command::Simpoint(options) => simpoint::run(root, &options),
        Command::Singlestep(options) => singlestep::run(root, &options),
        Command::Accesses(options) => accesses::run(root, &options),
        Command::Diff(options) => diff::run(root, &options),
        Command::Branches(options) => branches::run(root, &options),
        Command::Fdo(options) => fdo::run(root, &options),
        Command::Cases(options) => cases::run(root, &options),
        Command::Gate(options) => gate::run(root, &options),
        Command::Exports(options) => exports::run(root, &options),
        Command::Lessons(options) => lessons::run(root, &options),
        Command::Import(options) => imports::run(root, &options),
        Command::Streams(options) => streams::run(root, &options),
        Command::Paths(options) => paths::run(root, &options),
        Command::Ostrace(options) => ostrace::run(root, &options),
        Command::Stress(options) => stress::run(root, &options),
        Command::Stops(options) => stops::run(root, &options),
        Command::Upstream(options) => upstream::run(root, &options),
        Command::Waste(options) => waste::run(root, &options),
        Command::Windows(options) => windows::run(root, &options),
        Command::Unprivileged(options) => unprivileged::run(root, &options),
        Command::Html(options) => html::run(root, &options),
    }
}

/// Fixes the addresses of all programs that are started from here on.
fn fix_addresses() -> Result<()> {
    set_personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong).context("cannot fix addresses")
}

/// Has the system choose the addresses of all programs that are started from here on.
fn randomise_addresses() -> Result<()> {
    set_personality(0).context("cannot let addresses be random")
}

fn set_personality(flags: libc::c_ulong) -> Result<()> {
    // SAFETY: takes no memory.
    let before = unsafe { libc::personality(flags) };
    ensure!(before >= 0, std::io::Error::last_os_error());
    Ok(())
}
