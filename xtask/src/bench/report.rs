//! How long it takes until a report of a large profile begins to print.

use crate::counter::target_folder;
use crate::profiler::Profiler;
use crate::suite;
use crate::usage::wait_with_usage;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use timewise_profile::{Profile, Sample};

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Workload whose profile is made large
    #[arg(default_value = "cc1")]
    workload: String,
    /// Size of the profile
    #[arg(long, value_name = "MEBIBYTES", default_value_t = 100)]
    size: u64,
    /// Fail if it takes longer until the first word
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    most_seconds: f64,
}

/// Prints seconds until the first word of each report and until its last.
///
/// # Errors
/// If it takes longer than is allowed, or cannot be measured.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let timewise = Profiler::build(root)?.program;
    let file = target_folder(root).join("large.tw");
    record(root, options, &timewise, &file)?;
    let profile = enlarge(Profile::load(&file)?, &file, options.size << 20)?;
    println!(
        "{} MiB: {} samples, {} stack frames, {} blocks, {} edges",
        file.metadata()?.len() >> 20,
        profile.samples.len(),
        profile.stacks.len(),
        profile.blocks.len(),
        profile.edge_counts.len()
    );
    let mut slowest: f64 = 0.0;
    for by in ["function", "loop", "call", "block", "instruction", "line"] {
        let (first, all, mebibytes) = measure(&timewise, &file, by)?;
        println!(
            "report --by {by:12} {first:6.2} s to the first word, {all:6.2} s in all, {mebibytes:5} MiB"
        );
        slowest = slowest.max(first);
    }
    ensure!(slowest <= options.most_seconds, "more than {} s", options.most_seconds);
    Ok(())
}

/// A profile of samples and counts, of size `train`.
fn record(root: &Path, options: &Options, timewise: &Path, file: &Path) -> Result<()> {
    let workload =
        suite::select(root, std::slice::from_ref(&options.workload))?.pop().context("no workload")?;
    let [timewise, file] = [timewise, file].map(|path| path.to_string_lossy().into_owned());
    let prefix = [timewise, "run".into(), "-F".into(), "4000".into(), "-o".into(), file, "--".into()];
    let work = suite::work_folder(root)?;
    let executed = suite::execute(&workload, suite::Size::Train, &work, &prefix, 600)?;
    ensure!(executed.status.success(), "{}", executed.last_words());
    Ok(())
}

/// What a sample takes in a file at most, so far as none was seen.
const SAMPLE_BYTES: u64 = 50;

/// Repeats the samples, as a longer run of the same would have taken them, until the file has this size.
fn enlarge(mut profile: Profile, file: &Path, bytes: u64) -> Result<Profile> {
    let samples = profile.samples.clone();
    ensure!(!samples.is_empty(), "a profile without samples");
    let run_ns = profile.runs.first().context("a profile without a run")?.elapsed_ns.max(1);
    profile.save(file)?;
    let small = file.metadata()?.len();
    let mut length = small;
    while length < bytes {
        let added = profile.samples.len() - samples.len();
        let each = (length - small).checked_div(added as u64).unwrap_or(SAMPLE_BYTES).max(1);
        let more = ((bytes - length) / each) as usize + 1;
        profile.samples.extend((added..added + more).map(|number| {
            let sample = &samples[number % samples.len()];
            let repetition = (number / samples.len()) as u64 + 1;
            Sample { time_ns: sample.time_ns + repetition * run_ns, ..*sample }
        }));
        profile.save(file)?;
        length = file.metadata()?.len();
    }
    Ok(profile)
}

/// Seconds to the first word and to the last, and the peak of the memory.
fn measure(timewise: &Path, file: &Path, by: &str) -> Result<(f64, f64, u64)> {
    let started = Instant::now();
    let mut command = Command::new(timewise);
    command.args(["report", "--by", by]).arg(file).stdout(Stdio::piped());
    let mut child = command.spawn().context("timewise")?;
    let mut output = child.stdout.take().context("no output")?;
    let mut buffer = [0; 4096];
    ensure!(output.read(&mut buffer)? > 0, "report --by {by} printed nothing");
    let first = started.elapsed().as_secs_f64();
    while output.read(&mut buffer)? > 0 {}
    let used = wait_with_usage(child)?;
    ensure!(used.status.success(), "report --by {by} failed");
    Ok((first, started.elapsed().as_secs_f64(), used.peak_kilobytes / 1024))
}
