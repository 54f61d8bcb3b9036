//! How long it takes, and how much memory, to find the functions, lines and inlined calls of many addresses of
//! a large program.

use crate::counter::target_folder;
use crate::usage::wait_with_usage;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// A program with debug information; timewise itself, built without optimisation, if none is named
    file: Option<PathBuf>,
    /// Addresses, spread evenly over its functions
    #[arg(long, default_value_t = 1_000_000)]
    addresses: u32,
    /// Fail if it takes longer
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    most_seconds: f64,
    /// Fail if it takes more memory
    #[arg(long, value_name = "MEBIBYTES", default_value_t = 1024)]
    most_memory: u64,
}

/// Prints seconds and the peak of the memory.
///
/// # Errors
/// If it takes more than is allowed, or cannot be measured.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let cargo = |arguments: &[&str]| -> Result<()> {
        let status =
            Command::new(env!("CARGO")).args(arguments).current_dir(root).status().context("cargo")?;
        ensure!(status.success(), "cargo {} failed", arguments.join(" "));
        Ok(())
    };
    cargo(&["build", "--quiet", "--release", "-p", "timewise-image", "--example", "symbolise"])?;
    let file = match &options.file {
        Some(file) => file.clone(),
        None => {
            cargo(&["build", "--quiet", "--bin", "timewise"])?;
            target_folder(root).join("debug/timewise")
        }
    };
    let mut command = Command::new(target_folder(root).join("release/examples/symbolise"));
    let started = Instant::now();
    let child = command.arg(&file).arg(options.addresses.to_string()).spawn().context("the example")?;
    let used = wait_with_usage(child)?;
    let seconds = started.elapsed().as_secs_f64();
    ensure!(used.status.success(), "{} cannot be symbolised", file.display());
    let mebibytes = used.peak_kilobytes / 1024;
    println!(
        "{}, {} MiB: {} addresses in {seconds:.2} s, {mebibytes} MiB",
        file.display(),
        file.metadata()?.len() >> 20,
        options.addresses
    );
    ensure!(seconds <= options.most_seconds, "more than {} s", options.most_seconds);
    ensure!(mebibytes <= options.most_memory, "more than {} MiB", options.most_memory);
    Ok(())
}
