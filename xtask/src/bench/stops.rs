//! What one sample costs where it falls: pieces of a program's work in which it was stopped, against those in which it was
//! not; pieces with a tick of the kernel's timer are compared with each other. Of whole runs, that a few hundred samples
//! take a hundredth of the time can hardly be told from what neighbours of the machine do to it.

use super::statistics::{median, median_interval};
use super::table::Destination;
use super::tracing::compiled;
use crate::profiler::Profiler;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::Path;
use std::process::Command;
use timewise_target::machine;

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

const SECOND_NS: u64 = 1_000_000_000;

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
    let mut rows = vec![["what", "signals", "with a tick", "µs each"].map(String::from)];
    let mut own = Command::new(&program);
    own.args([&pieces, "own"]);
    let traced = |how: &[&str]| {
        let mut traced = Command::new(&timewise);
        traced.args(["branches", "-F", &rate, "--length", &length, "-o"]).arg(&profile).args(how).arg("--");
        traced.arg(&program).arg(&pieces);
        traced
    };
    let mut all = [
        Signals::of("a signal that does nothing", own),
        Signals::of("one that traces", traced(&[])),
        Signals::of("one that traces, --at-ticks", traced(&["--at-ticks"])),
    ];
    // Not every kernel has ticks at known moments, and often enough.
    let are_ticks =
        machine::timer_tick_ns().is_some_and(|tick| u64::from(options.frequency) * tick <= SECOND_NS);
    let measured = &mut all[..if are_ticks { 3 } else { 2 }];
    for _ in 0..options.rounds {
        measured.iter_mut().try_for_each(Signals::measure)?;
    }
    // Signals of the program's own leave ticks as they are.
    rows.push(["the timer's tick".into(), "-".into(), "-".into(), with_interval(&measured[0].ticks)]);
    rows.extend(measured.iter().map(Signals::row));
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
    /// What a tick of the kernel's timer took without one.
    ticks: Vec<f64>,
}

impl Signals {
    fn of(what: &'static str, command: Command) -> Signals {
        Signals { what, command, counts: [0; 2], costs: Vec::new(), ticks: Vec::new() }
    }

    fn measure(&mut self) -> Result<()> {
        let output = self.command.output().context("stops")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {errors}", output.status);
        let said = String::from_utf8_lossy(&output.stdout);
        let (counts, [cost, tick]) = read(&said).context("stops says no costs")?;
        self.counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        self.costs.push(cost);
        self.ticks.push(tick);
        Ok(())
    }

    fn row(&self) -> [String; 4] {
        let [all, at_ticks] = self.counts.map(|count| count.to_string());
        [self.what.to_string(), all, at_ticks, with_interval(&self.costs)]
    }
}

/// The median, with its interval if there are enough.
fn with_interval(costs: &[f64]) -> String {
    let interval =
        median_interval(costs).map_or(String::new(), |(low, high)| format!(" ({low:.1}-{high:.1})"));
    format!("{:.1}{interval}", median(costs))
}

/// How many signals there were and how many with a tick; what one took, and a tick without one.
fn read(said: &str) -> Option<([u32; 2], [f64; 2])> {
    let mut words = said.split_whitespace();
    let mut count = || words.next()?.parse().ok();
    let counts = [count()?, count()?];
    let mut cost = || words.next()?.parse().ok();
    Some((counts, [cost()?, cost()?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        assert_eq!(read("303 12 53.67 50.1\n"), Some(([303, 12], [53.67, 50.1])));
        assert_eq!(read("too few"), None);
    }
}
