//! What one sample costs where it falls: pieces of a program's work in which it was stopped, against those in which it was
//! not, and where the kernel's timer ticks, against those in which it ticked as well. Of whole runs, that a few hundred
//! samples take a hundredth of the time can hardly be told from what neighbours of the machine do to it.

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
    /// Rounds of a run with signals of its own and of traced ones; fewer than six give no interval
    #[arg(long, default_value_t = 6)]
    rounds: u32,
    #[command(flatten)]
    into: Destination,
}

/// The table's name in a Markdown file.
const TABLE: &str = "cost of a stop";

/// Prints what a signal takes that does nothing, and what one takes that traces, at any moment and at ticks.
///
/// # Errors
/// If the program fails, or the system refuses its events.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    options.into.check(TABLE)?;
    let program = compiled(root, "stops")?;
    let timewise = Profiler::build(root)?.program;
    let profile = program.with_extension("tw");
    let [rate, length, pieces] = [options.frequency, options.length, options.pieces].map(|n| n.to_string());
    let mut rows = vec![["what the signal does", "signals", "at a tick", "µs each"].map(String::from)];
    let mut own = Command::new(&program);
    own.args([&pieces, "own"]);
    let traced = |how: &[&str]| {
        let mut traced = Command::new(&timewise);
        traced.args(["branches", "-F", &rate, "--length", &length, "-o"]).arg(&profile).args(how).arg("--");
        traced.arg(&program).arg(&pieces);
        traced
    };
    let mut all = [
        Signals::of("nothing", own),
        Signals::of("it traces", traced(&[])),
        Signals::of("it traces, --at-ticks", traced(&["--at-ticks"])),
    ];
    for _ in 0..options.rounds {
        all.iter_mut().try_for_each(Signals::measure)?;
    }
    rows.extend(all.iter().map(Signals::row));
    rows.iter().for_each(|row| println!("{}", row.join("  ")));
    let Options { frequency, length, rounds, .. } = options;
    let caption = format!(
        "`-F {frequency} --length {length} --rounds {rounds}`: medians of rounds, with intervals of 95 %"
    );
    options.into.put(TABLE, &caption, &rows)
}

/// Runs with signals of one kind, and what these took.
struct Signals {
    what: &'static str,
    command: Command,
    /// How many there were, and how many of them at a tick.
    counts: [u32; 2],
    /// What one took, in microseconds, in each run.
    costs: Vec<f64>,
}

impl Signals {
    fn of(what: &'static str, command: Command) -> Signals {
        Signals { what, command, counts: [0; 2], costs: Vec::new() }
    }

    fn measure(&mut self) -> Result<()> {
        let output = self.command.output().context("stops")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {errors}", output.status);
        let (counts, cost) = read(&String::from_utf8_lossy(&output.stdout)).context("stops says no costs")?;
        self.counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        self.costs.push(cost);
        Ok(())
    }

    fn row(&self) -> [String; 4] {
        let interval = median_interval(&self.costs);
        let interval = interval.map_or(String::new(), |(low, high)| format!(" ({low:.1}-{high:.1})"));
        let [all, at_ticks] = self.counts.map(|count| count.to_string());
        [self.what.to_string(), all, at_ticks, format!("{:.1}{interval}", median(&self.costs))]
    }
}

/// How many signals there were and how many of them at a tick, and what one took.
fn read(said: &str) -> Option<([u32; 2], f64)> {
    let mut words = said.split_whitespace();
    let [all, at_ticks] = [words.next()?.parse().ok()?, words.next()?.parse().ok()?];
    Some(([all, at_ticks], words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        assert_eq!(read("303 12 53.67\n"), Some(([303, 12], 53.67)));
        assert_eq!(read("too few"), None);
    }
}
