//! stress-ng's stressors under count: each must run its time, verify what the system did for it, and end well, and its
//! counts must be complete and consistent.

use super::executions;
use crate::counter::Counter;
use crate::folder::Folder;
use crate::profiler::Profiler;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::Path;
use std::process::{Command, Output};

/// Which, and for how long.
#[derive(Args)]
pub struct Options {
    /// Stressors by their names; signals, processes, memory, pipes, timers, locks, contexts and code that changes if
    /// none is named
    names: Vec<String>,
    /// For how long each runs
    #[arg(long, default_value_t = 10)]
    seconds: u32,
}

/// What an engine can get wrong; `icache` rewrites the code that it runs, `far-branch` makes a million functions all
/// over the address space.
const STRESSORS: [&str; 33] = [
    "signal",
    "signest",
    "sigabrt",
    "sigchld",
    "sigfd",
    "sigfpe",
    "sigio",
    "sigpending",
    "sigpipe",
    "sigq",
    "sigrt",
    "sigsegv",
    "sigsuspend",
    "sigtrap",
    "kill",
    "clone",
    "fork",
    "vfork",
    "vforkmany",
    "mmap",
    "mmapfixed",
    "mprotect",
    "tee",
    "pipe",
    "timer",
    "itimer",
    "timerfd",
    "futex",
    "pthread",
    "context",
    "longjmp",
    "icache",
    "far-branch",
];

/// What a stressor may take longer than it was told to before it counts as hung: some wait for what they began, and
/// some have much code to begin with.
const GRACE_SECONDS: u32 = 120;

/// The warning that says no more than that a profile is kept small.
const EXPECTED: &str = "share rows, one for each executable";

/// Prints a row for each stressor.
///
/// # Errors
/// If one fails under count and not natively, or cannot be counted.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let stress = Stress {
        counter: Counter::build(root)?,
        profiler: Profiler::build(root)?,
        scratch: Folder::of(root, "stress")?,
        seconds: options.seconds,
    };
    let all = STRESSORS.map(String::from);
    let names = if options.names.is_empty() { &all[..] } else { &options.names };
    println!("{:12} {:>14} faults", "stressor", "executions");
    let mut bad = Vec::new();
    for name in names {
        let (executions, faults) = stress.check(name)?;
        println!("{name:12} {executions:>14} {}", if faults.is_empty() { "none" } else { "" });
        faults.iter().for_each(|fault| println!("    {fault}"));
        if !faults.is_empty() {
            bad.push(name.as_str());
        }
    }
    ensure!(bad.is_empty(), "{} of {} stressors fail: {}", bad.len(), names.len(), bad.join(" "));
    println!("{} stressors, {} s each: no fault", names.len(), options.seconds);
    Ok(())
}

struct Stress {
    counter: Counter,
    profiler: Profiler,
    scratch: Folder,
    seconds: u32,
}

impl Stress {
    /// Executions that were counted, and what is wrong.
    fn check(&self, name: &str) -> Result<(u64, Vec<String>)> {
        let file = self.scratch.join("counts");
        for old in [&file, &file.with_extension("tw")] {
            let _ = std::fs::remove_file(old);
        }
        let counted = self.output(&self.counter.prefix(&file), name, self.seconds)?;
        let mut faults = faults_of(&counted);
        // What stress-ng or this system cannot do is no fault of ours; a moment shows it.
        if !faults.is_empty() {
            let native = faults_of(&self.output(&[], name, 1)?);
            ensure!(native.is_empty(), "{name} fails natively as well: {}", native.join("; "));
        }
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        faults.extend(executions::warnings(&text).filter(|w| !w.contains(EXPECTED)).map(str::to_string));
        if text.is_empty() {
            faults.push("left no counts".into());
        } else if executions::imbalance(&text)? != 0 {
            faults.push(format!("counts do not balance, by {}", executions::imbalance(&text)?));
        } else {
            faults.extend(self.profiler.contradictions(&file.with_extension("tw"))?.into_iter().take(3));
        }
        Ok((executions::total(&text).unwrap_or(0), faults))
    }

    fn output(&self, prefix: &[String], name: &str, seconds: u32) -> Result<Output> {
        let limit = (seconds + GRACE_SECONDS).to_string();
        Command::new("timeout")
            .args(["-k", "5", &limit])
            .args(prefix)
            .args(["stress-ng", &format!("--{name}"), "1", "--verify", "--timeout", &format!("{seconds}s")])
            .arg("--temp-path")
            .arg(&*self.scratch)
            .output()
            .context("stress-ng; install it with scripts/setup-debian stress")
    }
}

/// How a run failed, and what stress-ng found wrong.
fn faults_of(output: &Output) -> Vec<String> {
    let said =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
    let found = said.lines().filter(|line| line.contains(": fail:") || line.contains(": error:"));
    let mut faults: Vec<String> = found.take(5).map(str::to_string).collect();
    if !output.status.success() {
        faults.push(format!("ended with {}", output.status));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn faults_are_what_stress_ng_says_and_how_it_ends() {
        let of = |status, stderr: &str| {
            let status = ExitStatus::from_raw(status);
            faults_of(&Output { status, stdout: Vec::new(), stderr: stderr.as_bytes().to_vec() })
        };
        let fine = "stress-ng: info:  [7] successful run completed in 1.00s\n";
        assert_eq!(of(0, fine), [""; 0]);
        let line = "stress-ng: fail:  [8] stress-ng-timer: only 3 of 5";
        assert_eq!(of(2 << 8, &format!("{line}\n{fine}")), [line, "ended with exit status: 2"]);
    }
}
