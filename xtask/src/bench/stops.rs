//! What one sample costs where it falls: pieces of a program's work in which it was stopped, against those in which it was
//! not. Of whole runs, that a few hundred samples take a hundredth of the time can hardly be told from what neighbours of
//! the machine do to it.

use super::statistics::{median, median_interval};
use super::table::Destination;
use super::tracing::compiled;
use crate::profiler::Profiler;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::Path;
use std::process::Command;

/// What to measure, and how.
#[derive(Args)]
pub struct Options {
    /// Traces per second of CPU time
    #[arg(short = 'F', long, default_value_t = 105)]
    frequency: u32,
    /// Branches of a trace
    #[arg(long, default_value_t = 16)]
    length: u32,
    /// Pieces of work in a run, each of some 150 microseconds
    #[arg(long, default_value_t = 40_000)]
    pieces: u32,
    /// Rounds of a run with signals of its own and of a traced one; fewer than six give no interval
    #[arg(long, default_value_t = 6)]
    rounds: u32,
    #[command(flatten)]
    into: Destination,
}

/// The table's name in a Markdown file.
const TABLE: &str = "cost of a stop";

/// Prints what a signal takes that does nothing, and what one takes that traces.
///
/// # Errors
/// If the program fails, or the system refuses its events.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    options.into.check(TABLE)?;
    let program = compiled(root, "stops")?;
    let timewise = Profiler::build(root)?.program;
    let profile = program.with_extension("tw");
    let [rate, length, pieces] = [options.frequency, options.length, options.pieces].map(|n| n.to_string());
    let mut rows = vec![["what the signal does", "signals", "µs each"].map(String::from)];
    let (mut signals, mut costs) = ([0, 0], [Vec::new(), Vec::new()]);
    for _ in 0..options.rounds {
        let mut own = Command::new(&program);
        own.args([&pieces, "own"]);
        let mut traced = Command::new(&timewise);
        traced.args(["branches", "-F", &rate, "--length", &length, "-o"]).arg(&profile).arg("--");
        traced.arg(&program).arg(&pieces);
        for (number, mut command) in [own, traced].into_iter().enumerate() {
            let output = command.output().context("stops")?;
            let errors = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "{}: {errors}", output.status);
            let (count, cost) =
                read(&String::from_utf8_lossy(&output.stdout)).context("stops says no costs")?;
            signals[number] += count;
            costs[number].push(cost);
        }
    }
    for ((what, count), costs) in ["nothing", "it traces"].into_iter().zip(signals).zip(&costs) {
        let interval =
            median_interval(costs).map_or(String::new(), |(low, high)| format!(" ({low:.1}-{high:.1})"));
        rows.push([what.to_string(), count.to_string(), format!("{:.1}{interval}", median(costs))]);
    }
    rows.iter().for_each(|row| println!("{}", row.join("  ")));
    let Options { frequency, length, rounds, .. } = options;
    let caption = format!(
        "`-F {frequency} --length {length} --rounds {rounds}`: medians of rounds, with intervals of 95 %"
    );
    options.into.put(TABLE, &caption, &rows)
}

/// How many signals there were, and what one took.
fn read(said: &str) -> Option<(u32, f64)> {
    let (count, cost) = said.trim().split_once(' ')?;
    Some((count.parse().ok()?, cost.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        assert_eq!(read("303 53.67\n"), Some((303, 53.67)));
        assert_eq!(read("too few"), None);
    }
}
