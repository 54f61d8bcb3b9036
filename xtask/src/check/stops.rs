//! Sampling by stops: what it must not change, and whether it sees what performance events see.
//!
//! Each torture program runs natively and under `timewise sample --sampler ptrace` at a high frequency: output and
//! end must be the same. Then workloads run under both samplers, and the shares of their functions must agree
//! within the error of sampling.

use super::agreement;
use super::torture::{self, Case};
use crate::folder::Folder;
use crate::profiler::Profiler;
use crate::suite::{self, Size, Workload};
use anyhow::{Result, ensure};
use clap::Args;
use std::path::Path;
use std::time::Duration;
use timewise_profile::Profile;

/// Workloads whose functions are compared if none is named.
const COMPARED: [&str; 5] = ["bzip2-g", "sqlite", "lua-g", "x264", "python"];

/// What to check, and how.
#[derive(Args)]
pub struct Options {
    /// Torture programs or workloads; all of the former and five of the latter if none is named
    names: Vec<String>,
    /// Only the torture programs
    #[arg(long)]
    torture: bool,
    /// Only the workloads
    #[arg(long, conflicts_with = "torture")]
    agreement: bool,
    /// Samples a second of the torture programs
    #[arg(long, default_value_t = 2000)]
    frequency: u32,
    /// Seconds after which a program counts as hung
    #[arg(long, default_value_t = 60)]
    limit: u32,
}

/// Prints a row for each program.
///
/// # Errors
/// If a program is changed, or the samplers disagree.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let timewise = Profiler::build(root)?.program;
    let scratch = Folder::of(root, "torture")?;
    let mut bad = Vec::new();
    if !options.agreement {
        for case in torture::load(root)?.iter().filter(|case| is_meant(case, &options.names)) {
            let frequency = options.frequency.to_string();
            let command = ["sample", "--sampler", "ptrace", "-F", &frequency];
            if let Some(fault) = changed(case, &command, &timewise, &scratch, options.limit)? {
                println!("{:24} {fault}", case.name);
                bad.push(case.name.clone());
            }
        }
        println!("torture programs changed by stops: {}", bad.len());
    }
    if !options.torture {
        let names = match options.names.is_empty() {
            true => COMPARED.map(String::from).to_vec(),
            false => options.names.clone(),
        };
        println!(
            "{:16} {:>8} {:>8} {:>6}  where they are furthest apart",
            "workload", "events", "stops", "sigma"
        );
        for workload in suite::select(root, &names)? {
            let sampled = |means| sample(&workload, means, &timewise, root, &scratch, options.limit);
            let (events, stops) = (sampled("perf")?, sampled("ptrace")?);
            let apart = agreement::furthest(&events, &stops);
            println!("{:16} {apart}", workload.name);
            if !apart.is_chance() {
                bad.push(workload.name);
            }
        }
    }
    ensure!(bad.is_empty(), "sampling by stops went wrong: {}", bad.join(" "));
    Ok(())
}

/// Whether a case is named, or its program, or nothing is.
pub fn is_meant(case: &Case, names: &[String]) -> bool {
    names.is_empty()
        || names.iter().any(|name| case.name == *name || case.name.split(':').next() == Some(name))
}

/// What is different under a command of `timewise`, if anything is.
///
/// # Errors
/// If the program cannot be built or run.
pub fn changed(
    case: &Case,
    command: &[&str],
    timewise: &Path,
    scratch: &Path,
    limit_s: u32,
) -> Result<Option<String>> {
    let program = case.build(scratch)?;
    let limit = Duration::from_secs(limit_s.into());
    let native = case.run(&program, &["env".to_string()], scratch, limit)?;
    let file = scratch.join("stops.tw");
    let [tool, place] = [timewise, &file].map(|path| path.to_string_lossy());
    let words = [&[&*tool], command, &["-o", &*place, "--"]].concat();
    let words: Vec<String> = words.into_iter().map(String::from).collect();
    let sampled = case.run(&program, &words, scratch, limit)?;
    // Standard error holds what we say of the run as well.
    if native.ended == sampled.ended && native.output == sampled.output {
        return Ok(None);
    }
    let [expected, found, said] =
        [&native.output, &sampled.output, &sampled.errors].map(|bytes| String::from_utf8_lossy(bytes));
    Ok(Some(format!(
        "natively {} with {expected:?}\n    under timewise {} with {found:?}\n    {said}",
        native.ended, sampled.ended
    )))
}

/// A recording of a workload.
fn sample(
    workload: &Workload,
    means: &str,
    timewise: &Path,
    root: &Path,
    scratch: &Path,
    limit: u32,
) -> Result<Profile> {
    let work = suite::work_folder(root)?;
    let file = scratch.join("agreement.tw");
    let [tool, place] = [timewise, &file].map(|path| path.to_string_lossy());
    let words = [&*tool, "sample", "--sampler", means, "-o", &place, "--"].map(String::from);
    let done = suite::execute(workload, Size::Train, &work, &words, limit)?;
    ensure!(done.status.success(), "{}: {}\n{}", workload.name, done.status, done.last_words());
    Ok(Profile::load(&file)?)
}
