//! How much memory a program takes under count, against native: the most that one of its processes had resident at
//! once. What several processes share is part of each, and counted in one only.

use crate::counter::build_example;
use crate::suite::{self, Expected, Size, Workload};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::{Path, PathBuf};

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Workloads; all if none is named
    names: Vec<String>,
    /// Size of the input
    #[arg(long, value_enum, default_value_t = Size::Test)]
    size: Size,
    /// Fail above so many times native memory, and `--more`
    #[arg(long, default_value_t = 2.0)]
    times: f64,
    /// What is granted beyond, in MiB
    #[arg(long, value_name = "MEBIBYTES", default_value_t = 64.0)]
    more: f64,
    /// Seconds after which a workload is killed
    #[arg(long, default_value_t = 600)]
    limit: u32,
}

/// Prints a row for each workload.
///
/// # Errors
/// If one takes more than is allowed or goes wrong, or cannot be run at all.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let counter = build_example(root, "count")?;
    let work = suite::work_folder(root)?;
    let mut expected = Expected::open(&work)?;
    println!(
        "peak resident memory in MiB at size {}; at most {} times native and {} MiB",
        options.size.word(),
        options.times,
        options.more
    );
    println!("{:16} {:>9} {:>10} {:>9} {:>9}", "workload", "native", "--no-calls", "calls", "of bound");
    let mut above = Vec::new();
    for workload in suite::select(root, &options.names)? {
        let bench = Bench { workload: &workload, counter: &counter, work: &work, options };
        let native = bench.once(&["--native"], &mut expected)?;
        let plain = bench.once(&["--no-calls"], &mut expected)?;
        let calls = bench.once(&[], &mut expected)?;
        let bound = options.times * native + options.more;
        let share = plain.max(calls) / bound;
        println!("{:16} {native:9.1} {plain:10.1} {calls:9.1} {:>7.0} %", workload.name, 100.0 * share);
        if share > 1.0 {
            above.push(workload.name);
        }
    }
    ensure!(above.is_empty(), "take more memory under count than is allowed: {}", above.join(" "));
    Ok(())
}

struct Bench<'a> {
    workload: &'a Workload,
    counter: &'a PathBuf,
    work: &'a Path,
    options: &'a Options,
}

impl Bench<'_> {
    /// One execution by the engine's example with these arguments: the peak of the program's memory, in MiB. What the
    /// command itself takes is no part of it.
    fn once(&self, arguments: &[&str], expected: &mut Expected) -> Result<f64> {
        let Options { size, limit, .. } = *self.options;
        let mut prefix = vec![self.counter.to_string_lossy().into_owned()];
        prefix.extend(arguments.iter().map(|argument| (*argument).to_string()));
        let executed = suite::execute(self.workload, size, self.work, &prefix, limit)?;
        let verdict = expected.judge(self.workload, size, &executed, arguments == ["--native"])?;
        ensure!(verdict.is_good(), "{}: {verdict}\n{}", self.workload.name, executed.last_words());
        let kilobytes = resident(&executed.errors).context("the engine's example does not say how much")?;
        Ok(kilobytes as f64 / 1024.0)
    }
}

/// What the engine's example says of the program's memory.
fn resident(errors: &str) -> Option<u64> {
    let (_, after) = errors.rsplit_once(" resident ")?;
    after.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_the_last_line_says() {
        let said = "a resident 7 KiB\nimbalance 0 shared memory 85 KiB resident 1234 KiB\nwarning: none\n";
        assert_eq!(resident(said), Some(1234));
        assert_eq!(resident("nothing"), None);
    }
}
