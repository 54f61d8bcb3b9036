//! Whether a thread among many costs as much under count as one that is alone, and is counted as exactly.

use super::statistics::median;
use crate::folder::Folder;
use crate::profiler::Profiler;
use crate::usage::wait_with_usage;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use timewise_profile::Profile;

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Threads that call one function at the same time
    #[arg(long, default_value_t = 8)]
    threads: u32,
    /// Calls of each
    #[arg(long, default_value_t = 20_000_000)]
    calls: u64,
    /// Rounds: medians count
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Fail if a thread among many takes so many times the CPU time of one alone, natively or under count
    #[arg(long, default_value_t = 1.1)]
    most_times: f64,
}

/// Instructions of the function that is called.
const INSTRUCTIONS: u64 = 5;

/// Prints CPU time for each thread, of one thread and of many.
///
/// # Errors
/// If a thread among many costs more than is allowed, or counts are not exact.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let timewise = Profiler::build(root)?;
    let folder = Folder::of(root, "threads")?;
    let program = folder.join("hammer");
    let mut compiler = Command::new("gcc");
    compiler.args(["-O2", "-g", "-fno-omit-frame-pointer", "-pthread", "-o"]).arg(&program);
    let compiled = compiler.arg(root.join("suite/totals/hammer.c")).status().context("gcc")?;
    ensure!(compiled.success(), "suite/totals/hammer.c does not compile");
    let bench = Bench { timewise, program, profile: folder.join("hammer.tw"), options };

    let header = format!("of {}", options.threads);
    println!("CPU seconds for each thread; {} calls each", options.calls);
    println!("{:10} {:>9} {header:>9} {:>6}", "", "alone", "times");
    let mut above = Vec::new();
    let counted: [(&str, &[&str]); 3] =
        [("native", &[]), ("--no-calls", &["count", "--no-calls"]), ("calls", &["count"])];
    for (name, command) in counted {
        let (mut alone, mut among) = (Vec::new(), Vec::new());
        for _ in 0..options.rounds {
            alone.push(bench.seconds(command, 1)?);
            among.push(bench.seconds(command, options.threads)?);
        }
        let [alone, among] = [alone, among].map(|values| median(&values));
        println!("{name:10} {alone:9.3} {among:9.3} {:6.2}", among / alone);
        if among > options.most_times * alone {
            above.push(name);
        }
    }
    ensure!(above.is_empty(), "a thread among many costs more than one alone: {}", above.join(" "));
    Ok(())
}

struct Bench<'a> {
    timewise: Profiler,
    program: PathBuf,
    profile: PathBuf,
    options: &'a Options,
}

impl Bench<'_> {
    /// CPU time for each of so many threads, natively or behind a command of timewise.
    fn seconds(&self, command: &[&str], threads: u32) -> Result<f64> {
        let calls = self.options.calls;
        let mut child = match command {
            [] => Command::new(&self.program),
            _ => {
                let mut child = Command::new(&self.timewise.program);
                child.args(command).arg("--quiet").arg("-o").arg(&self.profile).arg("--").arg(&self.program);
                child
            }
        };
        child.args([u64::from(threads), calls].map(|number| number.to_string())).stdout(Stdio::null());
        let used = wait_with_usage(child.spawn().context("hammer")?)?;
        ensure!(used.status.success(), "hammer: {}", used.status);
        let seconds = if command.is_empty() {
            (used.user + used.kernel).as_secs_f64()
        } else {
            let wanted = u64::from(threads) * calls * INSTRUCTIONS;
            let counted = self.timewise.instructions(&self.profile, "step")?;
            ensure!(counted == wanted, "{threads} threads: {counted} instructions, not {wanted}");
            let profile = Profile::load(&self.profile)?;
            let run = profile.runs.first().context("a profile without a run")?;
            (run.user_ns + run.kernel_ns) as f64 / 1e9
        };
        Ok(seconds / f64::from(threads))
    }
}
