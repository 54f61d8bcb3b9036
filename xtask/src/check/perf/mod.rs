//! `cargo xtask check perf`: the shares of functions, alone and with what they call, are those that `perf`
//! finds.
//!
//! `perf record --call-graph dwarf` and `timewise sample` each run a workload with the same clock, then
//! `perf report --children` and the profile give two shares for each function. They are of different runs, so
//! they may differ by the sampling error of both.

mod names;
mod ours;
mod theirs;

use crate::folder::Folder;
use crate::profiler::Profiler;
use crate::suite::{self, Size, Workload};
use anyhow::{Result, ensure};
use clap::Args;
use names::Function;
use std::collections::BTreeMap;
use std::path::Path;

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Workloads of the suite; five of different kinds if none is named
    names: Vec<String>,
    /// Size of the input
    #[arg(long, value_enum, default_value_t = Size::Train)]
    size: Size,
    /// Samples per second of CPU time
    #[arg(short = 'F', long, default_value_t = 997)]
    frequency: u32,
    /// Functions to show of each workload
    #[arg(long, default_value_t = 10)]
    show: usize,
}

/// Plain and recursive calls, indirect ones, callbacks from the C library, C++.
const WORKLOADS: [&str; 5] = ["bzip2-g", "gnugo-g", "lua-g", "qsortdiv", "events"];

/// Bytes of stack that both take with a sample.
const STACK_BYTES: u32 = 32 << 10;

/// Two shares may differ by so many standard errors: of a hundred functions, chance lets one differ by more
/// once in 150 checks.
const ERRORS: f64 = 4.0;

/// Runs differ by this much from one another, whoever looks on: a change of speed, another layout.
const DRIFT: f64 = 0.01;

/// Functions with less than this are not compared.
const WORTH_COMPARING: f64 = 0.01;

/// As many as must be the same.
const HOTTEST: usize = 10;

/// What one profiler found.
#[derive(Debug, Default)]
pub struct Found {
    /// Samples in all.
    pub samples: u64,
    /// Samples in each function itself, and in it or what it called.
    pub functions: BTreeMap<Function, Samples>,
}

/// Samples of a function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Samples {
    /// In itself.
    pub own: f64,
    /// In itself or what it called, each sample once.
    pub total: f64,
}

/// Prints a table for each workload.
///
/// # Errors
/// If shares differ by more than chance allows, or something cannot be run.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let timewise = Profiler::build(root)?.program;
    let scratch = Folder::of(root, "perf")?;
    let defaults = || WORKLOADS.map(str::to_string).to_vec();
    let names = if options.names.is_empty() { defaults() } else { options.names.clone() };
    let mut bad = Vec::new();
    for workload in suite::select(root, &names)? {
        let theirs = theirs::record(root, &workload, options, &scratch.join("perf.data"))?;
        let ours = ours::record(root, &workload, options, &timewise, &scratch.join("profile.tw"))?;
        if !agree(&workload, &theirs, &ours, options.show) {
            bad.push(workload.name);
        }
    }
    ensure!(bad.is_empty(), "shares differ from perf's: {}", bad.join(" "));
    Ok(())
}

/// Runs a workload behind `prefix`.
fn execute(root: &Path, workload: &Workload, size: Size, prefix: &[String]) -> Result<()> {
    let executed = suite::execute(workload, size, &suite::work_folder(root)?, prefix, 600)?;
    ensure!(
        executed.status.code().is_some_and(|status| workload.is_success(status)),
        "{} under {}: {}",
        workload.name,
        prefix[0],
        executed.last_words()
    );
    Ok(())
}

fn agree(workload: &Workload, theirs: &Found, ours: &Found, show: usize) -> bool {
    println!("{}: {} samples of perf, {} of timewise", workload.name, theirs.samples, ours.samples);
    println!("    {:40} {:>8} {:>8} {:>8} {:>8}", "function", "self", "perf", "total", "perf");
    let mut all: Vec<(&Function, [f64; 4])> = Vec::new();
    let share = |found: &Found, part: f64| part / found.samples.max(1) as f64;
    for function in theirs.functions.keys().chain(ours.functions.keys()) {
        let [t, o] = [theirs, ours].map(|found| found.functions.get(function).copied().unwrap_or_default());
        let shares = [share(ours, o.own), share(theirs, t.own), share(ours, o.total), share(theirs, t.total)];
        all.push((function, shares));
    }
    all.sort_by(|a, b| a.0.cmp(b.0));
    all.dedup_by_key(|(function, _)| *function);
    all.sort_by(|a, b| b.1[1].total_cmp(&a.1[1]).then(b.1[3].total_cmp(&a.1[3])));
    let allowed = |a: f64, b: f64| {
        let variance = |share: f64, samples: u64| share * (1.0 - share) / samples.max(1) as f64;
        ERRORS * (variance(a, ours.samples) + variance(b, theirs.samples)).sqrt() + DRIFT
    };
    let differ = |a: f64, b: f64| (a - b).abs() > allowed(a, b);
    let mut good = true;
    for (rank, (function, [own, their_own, total, their_total])) in all.iter().enumerate() {
        let worth = [own, their_own, total, their_total].into_iter().any(|&share| share >= WORTH_COMPARING);
        let bad = worth && (differ(*own, *their_own) || differ(*total, *their_total));
        good &= !bad;
        if rank < show || bad {
            let [own, their_own, total, their_total] =
                [own, their_own, total, their_total].map(|share| format!("{:.2} %", 100.0 * share));
            let mark = if bad { "  differs" } else { "" };
            println!("    {:40.40} {own:>8} {their_own:>8} {total:>8} {their_total:>8}{mark}", function.name);
        }
    }
    // The last ones of the ten change places with those behind them by chance.
    let mut our_shares: Vec<f64> = all.iter().map(|(_, shares)| shares[0]).collect();
    our_shares.sort_by(|a, b| b.total_cmp(a));
    let tenth = our_shares.get(HOTTEST - 1).copied().unwrap_or(0.0);
    let missing = all.iter().take(HOTTEST).filter(|(_, shares)| {
        shares[1] > 0.0 && shares[0] < tenth && tenth - shares[0] > allowed(tenth, shares[0])
    });
    for (function, _) in missing {
        println!("    {} is one of perf's ten hottest, and not of ours", function.name);
        good = false;
    }
    good
}
