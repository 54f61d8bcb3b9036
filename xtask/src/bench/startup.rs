//! What beginning to count costs: the wall time of a program that does nothing, and the CPU time of short runs of much
//! code, against native runs of the same round, so that it does not matter that a machine is faster at one time than at
//! another. What the command does once the program has ended, to read symbols and to write the profile, is in a column of
//! its own.

use super::statistics::{median, median_interval};
use crate::counter::{build_example, target_folder};
use crate::profiler::Profiler;
use crate::suite::{self, Expected, Size, Workload};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use timewise_profile::Profile;

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Workloads of size `test`; the programs with the most code of the suite if none is named
    names: Vec<String>,
    /// How often each is run: medians count
    #[arg(long, default_value_t = 20)]
    rounds: u32,
    /// Fail if `true` takes so much longer under count
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 30.0)]
    most_milliseconds: f64,
    /// Fail if a workload takes so many times its native CPU time
    #[arg(long, default_value_t = 3.0)]
    most_times: f64,
}

/// Seconds after which a workload is killed.
const LIMIT_SECONDS: u32 = 120;

const WORKLOADS: [&str; 2] = ["cc1", "python"];

/// Prints the time that `true` takes, and a row for each workload.
///
/// # Errors
/// If one takes longer than is allowed, or goes wrong.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let timewise = Profiler::build(root)?.program;
    let file = target_folder(root).join("startup.tw");
    let count = |arguments: &[&str]| -> Vec<String> {
        let words = [&timewise.to_string_lossy(), "count", "--quiet", "-o", &file.to_string_lossy()];
        words.iter().chain(arguments).map(|word| (*word).to_string()).chain(["--".into()]).collect()
    };
    let mut above = Vec::new();
    println!("{:10} {:>10} {:>10} {:>10} {:>10}", "true", "native ms", "counted ms", "more ms", "command ms");
    for (name, prefix) in [("--no-calls", count(&["--no-calls"])), ("calls", count(&[]))] {
        let (mut native, mut counted, mut command) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..options.rounds {
            native.push(milliseconds(&[])?);
            command.push(milliseconds(&prefix)?);
            let profile = Profile::load(&file)?;
            let run = profile.runs.first().context("a profile without a run")?;
            counted.push(run.elapsed_ns as f64 / 1e6);
        }
        let [native, counted, command] = [native, counted, command].map(|values| median(&values));
        println!("{name:10} {native:10.2} {counted:10.2} {:10.2} {command:10.2}", counted - native);
        if counted - native > options.most_milliseconds {
            above.push("true".to_string());
        }
    }

    let names =
        if options.names.is_empty() { WORKLOADS.map(String::from).to_vec() } else { options.names.clone() };
    let work = suite::work_folder(root)?;
    let mut expected = Expected::open(&work)?;
    let counter = build_example(root, "count")?.to_string_lossy().into_owned();
    println!(
        "CPU time of the program against native, with intervals of 95 %, and blocks translated, with calls"
    );
    println!(
        "{:16} {:>9} {:>18} {:>18} {:>9} {:>9}",
        "workload", "native s", "--no-calls", "calls", "blocks", "ns each"
    );
    for workload in suite::select(root, &names)? {
        let (mut native, mut times) = (Vec::new(), [Vec::new(), Vec::new()]);
        for _ in 0..options.rounds {
            let alone = seconds(&workload, &work, &[], &file, &mut expected)?;
            native.push(alone);
            for (times, options) in times.iter_mut().zip([&["--no-calls"][..], &[]]) {
                times.push(seconds(&workload, &work, &count(options), &file, &mut expected)? / alone);
            }
        }
        let [plain, calls] = times.each_ref().map(|times| median(times));
        let counted =
            suite::execute(&workload, Size::Test, &work, std::slice::from_ref(&counter), LIMIT_SECONDS)?;
        let (blocks, each) =
            translated(&counted.errors).context("the engine does not say what it translated")?;
        let [plain_range, calls_range] = times.map(|times| {
            median_interval(&times).map_or(String::new(), |(low, high)| format!("({low:.2}-{high:.2})"))
        });
        println!(
            "{:16} {:9.3} {plain:6.2} {plain_range:>11} {calls:6.2} {calls_range:>11} {blocks:9} {each:9}",
            workload.name,
            median(&native),
        );
        if plain.max(calls) > options.most_times {
            above.push(workload.name);
        }
    }
    ensure!(above.is_empty(), "take longer to begin than is allowed: {}", above.join(" "));
    Ok(())
}

/// Wall time of `true` behind a command.
fn milliseconds(prefix: &[String]) -> Result<f64> {
    let words = [prefix, &["true".to_string()]].concat();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let status = command.status().with_context(|| words[0].clone())?;
    ensure!(status.success(), "{}: {status}", words.join(" "));
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

/// CPU time of a workload behind a command, its own and not the command's.
fn seconds(
    workload: &Workload,
    work: &Path,
    prefix: &[String],
    file: &Path,
    expected: &mut Expected,
) -> Result<f64> {
    let executed = suite::execute(workload, Size::Test, work, prefix, LIMIT_SECONDS)?;
    let verdict = expected.judge(workload, Size::Test, &executed, prefix.is_empty())?;
    ensure!(verdict.is_good(), "{}: {verdict}\n{}", workload.name, executed.last_words());
    if prefix.is_empty() {
        return Ok(executed.cpu().as_secs_f64());
    }
    let profile = Profile::load(file)?;
    let run = profile.runs.first().context("a profile without a run")?;
    Ok(Duration::from_nanos(run.user_ns + run.kernel_ns).as_secs_f64())
}

/// Blocks that were translated, and nanoseconds for each, as the engine's example says.
fn translated(errors: &str) -> Option<(u64, u64)> {
    let line = errors.lines().rev().find(|line| line.starts_with("translated "))?;
    let mut numbers = line.split(' ').filter_map(|word| word.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_translated_is_read() {
        assert_eq!(
            translated("translated nothing\ntranslated 12 blocks 345 ns each\nend\n"),
            Some((12, 345))
        );
        assert_eq!(translated("imbalance 0\n"), None);
    }
}
