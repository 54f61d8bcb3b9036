//! One table of what sampling and counting cost, and how long `timewise run` takes.
//!
//! `--into FILE` also writes the table there, between two marks, as `docs/performance.md` has it.
//!
//! Each round runs a workload natively and under `timewise sample`, `--pairs` times in turn, once more natively,
//! then under `timewise count`, and compares a sampled run with the mean of the native ones on either side, a
//! counted run with the last of them: what the machine does besides changes from minute to minute. A program's
//! CPU time under timewise is what the profile says of the run (the kernel's account of the program and its
//! children); what the command needs beside it, to read symbols and to write the file, is in a column of its
//! own, and in the wall time from Enter to the report.

use super::once::Bench;
use super::statistics::{geomean, median, upper_bound};
use super::table::Destination;
use crate::profiler::Profiler;
use crate::suite::{self, Expected, Size};
use anyhow::{Result, ensure};
use clap::Args;
use std::path::Path;
use suite::Kind;

/// What to measure, and how.
#[derive(Args)]
pub struct Options {
    /// Workloads; all of one thread that are neither servers nor process trees if none is named
    names: Vec<String>,
    /// Size of the input
    #[arg(long, value_enum, default_value_t = Size::Train)]
    size: Size,
    /// Rounds; fewer than five give no upper bound of counting
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Pairs of a native run and one under sampling in a round: what sampling costs is the smallest of the
    /// differences, and less than one run differs from the next, so it takes more of them than counting does
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Seconds after which a workload is killed
    #[arg(long, default_value_t = 600)]
    limit: u32,
    #[command(flatten)]
    into: Destination,
}

/// The table's name in a Markdown file.
const TABLE: &str = "overhead";

const COLUMNS: [&str; 10] = [
    "workload",
    "native s",
    "sampling",
    "sample command",
    "counting",
    "with calls",
    "calls",
    "both runs",
    "count command",
    "run s",
];

/// What one workload takes; ratios are to native.
#[derive(Default)]
struct Measured {
    name: String,
    /// One a pair, as are those of sampling.
    native_s: Vec<f64>,
    sampling: Vec<f64>,
    /// CPU time of the whole command.
    sampling_command: Vec<f64>,
    /// One a round.
    counting: Vec<f64>,
    /// With the costs of calls.
    with_calls: Vec<f64>,
    /// That against counting without.
    calls: Vec<f64>,
    /// Sampling and counting with calls together, as `timewise run` does.
    both: Vec<f64>,
    /// CPU time of the whole command, likewise with them.
    counting_command: Vec<f64>,
    run_elapsed_s: f64,
}

/// Prints a row for each workload, then the geometric means of real programs and of kernels.
///
/// # Errors
/// If a workload goes wrong under timewise, or cannot be run at all.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    // Before hours of work that it would be for.
    options.into.check(TABLE)?;
    let timewise = Profiler::build(root)?.program;
    let work = suite::work_folder(root)?;
    let mut expected = Expected::open(&work)?;
    let workloads = suite::select_single_threaded(root, &options.names)?;
    let caption = caption(options.size, options.rounds, options.pairs);
    println!("{caption}");
    let mut rows = vec![COLUMNS.map(String::from)];
    print(&rows[0]);
    let mut all: [Vec<Measured>; 2] = [Vec::new(), Vec::new()];
    let mut wrong = Vec::new();
    for workload in &workloads {
        let (size, limit_s) = (options.size, options.limit);
        let bench = Bench { workload, size, timewise: &timewise, work: &work, limit_s };
        match measure(&bench, options, &mut expected) {
            Ok(measured) => {
                rows.push(row(&measured));
                print(&rows[rows.len() - 1]);
                all[workload.kind as usize].push(measured);
            }
            Err(error) => {
                println!("{:16} {error:#}", workload.name);
                wrong.push(workload.name.as_str());
            }
        }
    }
    for (kind, measured) in [Kind::Real, Kind::Kernel].into_iter().zip(&all) {
        if !measured.is_empty() {
            rows.push(row(&mean(&format!("geomean {}", kind.word()), measured)));
            print(&rows[rows.len() - 1]);
        }
    }
    options.into.put(TABLE, &caption, &rows)?;
    ensure!(wrong.is_empty(), "went wrong under timewise: {}", wrong.join(" "));
    Ok(())
}

/// What the table shows; bounds are spoken of only if the values of some column have one.
fn caption(size: Size, rounds: u32, pairs: u32) -> String {
    let bound = match upper_bound(&vec![0.0; (rounds * pairs) as usize]) {
        Some(_) => " (upper 95 % bound, where there are values enough for one)",
        None => "",
    };
    format!(
        "CPU time against native at size {}, rounds: {}, in each {} of native and sampling in turn, a count without calls \
         and one with them: median{bound}; *calls* is counting with them against counting without",
        size.word(),
        rounds,
        match pairs {
            1 => "a pair".to_string(),
            pairs => format!("{pairs} pairs"),
        }
    )
}

fn measure(bench: &Bench, options: &Options, expected: &mut Expected) -> Result<Measured> {
    let mut measured = Measured { name: bench.workload.name.clone(), ..Measured::default() };
    for _ in 0..options.rounds {
        let mut native = bench.once(&[], expected)?.1;
        for _ in 0..options.pairs {
            let (command, sampled_s) = bench.once(&["sample"], expected)?;
            let before = std::mem::replace(&mut native, bench.once(&[], expected)?.1);
            let beside = (before + native) / 2.0;
            measured.native_s.push(beside);
            measured.sampling.push(sampled_s / beside);
            measured.sampling_command.push(command.cpu().as_secs_f64() / beside);
        }
        let (_, plain_s) = bench.once(&["count", "--no-calls"], expected)?;
        let (command, counted_s) = bench.once(&["count"], expected)?;
        measured.counting.push(plain_s / native);
        measured.with_calls.push(counted_s / native);
        measured.calls.push(counted_s / plain_s);
        measured.both.push(measured.sampling.last().unwrap_or(&f64::NAN) + counted_s / native);
        measured.counting_command.push(command.cpu().as_secs_f64() / native);
    }
    measured.run_elapsed_s = bench.once(&["run"], expected)?.0.elapsed.as_secs_f64();
    Ok(measured)
}

/// The geometric mean over workloads of their first values, their second values, and so on: it has a median
/// and a bound as a workload has.
fn mean(name: &str, all: &[Measured]) -> Measured {
    let over = |values: fn(&Measured) -> &Vec<f64>| -> Vec<f64> {
        let length = all.iter().map(|m| values(m).len()).min().unwrap_or(0);
        (0..length).map(|at| geomean(&all.iter().map(|m| values(m)[at]).collect::<Vec<_>>())).collect()
    };
    Measured {
        name: name.to_string(),
        native_s: over(|m| &m.native_s),
        sampling: over(|m| &m.sampling),
        sampling_command: over(|m| &m.sampling_command),
        counting: over(|m| &m.counting),
        with_calls: over(|m| &m.with_calls),
        calls: over(|m| &m.calls),
        both: over(|m| &m.both),
        counting_command: over(|m| &m.counting_command),
        run_elapsed_s: geomean(&all.iter().map(|m| m.run_elapsed_s).collect::<Vec<_>>()),
    }
}

fn row(of: &Measured) -> [String; COLUMNS.len()] {
    let ratio = |values: &[f64]| {
        let bound = upper_bound(values).map_or(String::new(), |bound| format!(" ({bound:.3})"));
        format!("{:.3}{bound}", median(values))
    };
    [
        of.name.clone(),
        format!("{:.2}", median(&of.native_s)),
        ratio(&of.sampling),
        format!("{:.2}", median(&of.sampling_command)),
        ratio(&of.counting),
        ratio(&of.with_calls),
        ratio(&of.calls),
        ratio(&of.both),
        format!("{:.2}", median(&of.counting_command)),
        format!("{:.2}", of.run_elapsed_s),
    ]
}

fn print(row: &[String; COLUMNS.len()]) {
    let [name, rest @ ..] = row;
    println!("{name:16}{}", rest.iter().map(|cell| format!(" {cell:>14}")).collect::<String>());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_spoken_of_where_there_are_some() {
        let of = |rounds, pairs| caption(Size::Train, rounds, pairs);
        assert!(of(1, 1).contains("rounds: 1, in each a pair of native") && of(1, 1).contains("median; "));
        assert!(
            of(5, 3).contains("in each 3 pairs of native") && of(5, 3).contains("median (upper 95 % bound")
        );
    }

    #[test]
    fn a_mean_is_taken_of_values_in_the_same_place() {
        let one = |ratios: [f64; 2]| Measured {
            counting: ratios.to_vec(),
            run_elapsed_s: 1.0,
            ..Measured::default()
        };
        let mean = mean("geomean", &[one([2.0, 4.0]), one([8.0, 1.0])]);
        assert!((mean.counting[0] - 4.0).abs() < 1e-12 && (mean.counting[1] - 2.0).abs() < 1e-12);
        assert!(mean.sampling.is_empty());
    }
}
