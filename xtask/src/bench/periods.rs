//! `cargo xtask bench periods`: how the errors of profilers that sample depend on how often they do, and on whether they
//! do so periodically or at random: figures A.11a, A.11b and B.8 of the papers on TIP and TEA.
//!
//! A workload is simulated once for each paper's core: samples of all periods are taken of the same cycles.

use super::chart::{Chart, Line};
use super::statistics::median;
use super::table::Destination;
use crate::counter::{build_example, target_folder};
use crate::suite::{self, Size, Workload, execute};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What to measure, and how.
#[derive(Args)]
pub struct Options {
    /// Workloads
    #[arg(default_values = DEFAULT)]
    names: Vec<String>,
    /// Cycles between samples; primes, as loops take round numbers of cycles more often
    #[arg(long, value_delimiter = ',', default_values_t = [31, 101, 331, 1009, 3163, 10_007])]
    periods: Vec<u64>,
    /// Instructions that pass before the core begins
    #[arg(long, default_value_t = 30_000_000)]
    skip: u64,
    /// Instructions that are simulated
    #[arg(long, default_value_t = 50_000_000)]
    instructions: u64,
    #[command(flatten)]
    into: Destination,
    /// A folder for charts
    #[arg(long)]
    charts: Option<PathBuf>,
}

/// Workloads of one thread and of different kinds.
const DEFAULT: [&str; 12] = [
    "perl",
    "bzip2-g",
    "gnugo-g",
    "hmmsearch",
    "x264",
    "imagick",
    "xz",
    "python",
    "sqlite",
    "lua-g",
    "lbm",
    "qsortdiv",
];

/// The tables' names in a Markdown file.
const MEANS: &str = "periods";
const EACH: &str = "periods by workload";

/// Techniques, each on its paper's core.
const TECHNIQUES: [(&str, &[&str]); 2] = [
    ("boom-4w-tip", &["TIP", "TIP-ILP", "NCI", "Software"]),
    ("boom-4w-tea", &["TEA", "NCI-TEA", "IBS", "RIS"]),
];

/// Ways to sample.
const MODES: [&str; 2] = ["periodic", "random"];

/// Fewer samples than this leave too much to chance.
const ENOUGH: u64 = 100_000;

/// Seconds after which a workload is killed.
const LIMIT_SECONDS: u32 = 1200;

/// What was found at one period, in one way to sample.
struct Found {
    samples: u64,
    /// By technique.
    errors: HashMap<String, f64>,
}

/// What was found of a workload on a core, by period and way to sample.
type Sampled = HashMap<(u64, String), Found>;

/// What was found of a workload: on each core, in the order of [`TECHNIQUES`].
struct Row {
    workload: String,
    cores: Vec<Sampled>,
}

/// Prints a row for each period, and one for each workload.
///
/// # Errors
/// If a workload cannot be simulated.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    // Before minutes of work that it would be for.
    [MEANS, EACH].iter().try_for_each(|name| options.into.check(name))?;
    let bench = Bench {
        example: build_example(root, "periods")?,
        work: suite::work_folder(root)?,
        file: target_folder(root).join("periods.txt"),
        options,
    };
    let mut rows = Vec::new();
    for workload in suite::select(root, &options.names)? {
        let cores = TECHNIQUES.iter().map(|(core, _)| bench.sample(&workload, core));
        rows.push(Row { workload: workload.name.clone(), cores: cores.collect::<Result<_>>()? });
        println!("{}", of_workload(&rows[rows.len() - 1], &options.periods).join("  "));
    }
    let (means, each) = (means(&rows, &options.periods), each(&rows, &options.periods));
    means.iter().for_each(|row| println!("{}", row.join("  ")));
    options.into.put(MEANS, &caption(options, rows.len()), &means)?;
    let caption =
        "Errors by instruction of TIP with periodic samples, and with random ones, over the period in cycles";
    options.into.put(EACH, caption, &each)?;
    options.charts.as_deref().map_or(Ok(()), |folder| charts(folder, &rows, &options.periods))
}

struct Bench<'a> {
    example: PathBuf,
    work: PathBuf,
    file: PathBuf,
    options: &'a Options,
}

impl Bench<'_> {
    fn sample(&self, workload: &Workload, core: &str) -> Result<Sampled> {
        let Options { periods, skip, instructions, .. } = self.options;
        let periods = periods.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let [example, file] = [&self.example, &self.file].map(|path| path.display().to_string());
        let prefix = [example, core.into(), skip.to_string(), instructions.to_string(), periods, file];
        let executed = execute(workload, Size::Test, &self.work, &prefix, LIMIT_SECONDS)?;
        let lines = std::fs::read_to_string(&self.file)
            .with_context(|| format!("{}: {}", workload.name, executed.last_words()))?;
        // What follows must not be taken for the next run's.
        std::fs::remove_file(&self.file)?;
        let sampled: Sampled =
            lines.lines().map(told).collect::<Option<_>>().context("a line of other words")?;
        ensure!(sampled.len() == MODES.len() * self.options.periods.len(), "periods are missing");
        Ok(sampled)
    }
}

/// What a line of the example tells.
fn told(line: &str) -> Option<((u64, String), Found)> {
    let words: Vec<&str> = line.split(' ').collect();
    let [period, mode, samples, errors @ ..] = &words[..] else { return None };
    let error = |pair: &[&str]| Some((pair.first()?.to_string(), pair.get(1)?.parse().ok()?));
    let errors = errors.chunks(2).map(error).collect::<Option<_>>()?;
    Some(((period.parse().ok()?, mode.to_string()), Found { samples: samples.parse().ok()?, errors }))
}

fn caption(options: &Options, workloads: usize) -> String {
    format!(
        "Mean errors by instruction over the period in cycles, {} million instructions of {workloads} workloads behind the \
         first {} million, techniques of either paper on its core: with samples of the last cycle of every period, and of a \
         random one of each",
        options.instructions / 1_000_000,
        options.skip / 1_000_000
    )
}

fn found<'a>(row: &'a Row, core: usize, period: u64, mode: &str) -> &'a Found {
    &row.cores[core][&(period, mode.to_string())]
}

/// The mean error of a technique over all workloads.
fn mean(rows: &[Row], core: usize, technique: &str, period: u64, mode: &str) -> f64 {
    let errors = rows.iter().map(|row| found(row, core, period, mode).errors[technique]);
    errors.sum::<f64>() / rows.len().max(1) as f64
}

/// Samples of each workload at a period, on all cores.
fn samples(rows: &[Row], period: u64) -> impl Iterator<Item = u64> {
    let cores = rows.iter().flat_map(|row| row.cores.iter());
    cores.map(move |sampled| sampled[&(period, MODES[0].to_string())].samples)
}

fn both(errors: [f64; 2]) -> String {
    errors.map(|error| format!("{:.1} %", 100.0 * error)).join(", ")
}

fn means(rows: &[Row], periods: &[u64]) -> Vec<Vec<String>> {
    let names = TECHNIQUES.iter().flat_map(|(_, techniques)| techniques.iter());
    let titles = ["period", "samples of a workload, median"].iter().chain(names);
    let mut table: Vec<Vec<String>> = vec![titles.map(|title| title.to_string()).collect()];
    for &period in periods {
        let samples = median(&samples(rows, period).map(|samples| samples as f64).collect::<Vec<_>>());
        let mut row = vec![period.to_string(), format!("{samples:.0}")];
        for (core, (_, techniques)) in TECHNIQUES.iter().enumerate() {
            let errors = |technique: &&str| both(MODES.map(|mode| mean(rows, core, technique, period, mode)));
            row.extend(techniques.iter().map(errors));
        }
        table.push(row);
    }
    table
}

fn each(rows: &[Row], periods: &[u64]) -> Vec<Vec<String>> {
    let titles = std::iter::once("workload".to_string()).chain(periods.iter().map(u64::to_string));
    let of_workloads = rows.iter().map(|row| of_workload(row, periods));
    std::iter::once(titles.collect()).chain(of_workloads).collect()
}

/// TIP's errors in a workload by period.
fn of_workload(row: &Row, periods: &[u64]) -> Vec<String> {
    let errors = |&period| both(MODES.map(|mode| found(row, 0, period, mode).errors["TIP"]));
    std::iter::once(row.workload.clone()).chain(periods.iter().map(errors)).collect()
}

/// Draws a chart for each paper: `errors-over-period-CORE.svg`.
fn charts(folder: &Path, rows: &[Row], periods: &[u64]) -> Result<()> {
    for (core, (name, techniques)) in TECHNIQUES.iter().enumerate() {
        let lines = techniques.iter().enumerate().flat_map(|(colour, technique)| {
            MODES.into_iter().enumerate().map(move |(dashed, mode)| {
                let point = |&period| {
                    let enough = samples(rows, period).all(|samples| samples >= ENOUGH);
                    (period as f64, mean(rows, core, technique, period, mode), enough)
                };
                let points = periods.iter().map(point).collect();
                Line { name: format!("{technique}, {mode}"), colour, dashed: dashed == 0, points }
            })
        });
        let chart = Chart {
            title: &format!(
                "errors by instruction on {name} (hollow: fewer than 100,000 samples of a workload)"
            ),
            across: "cycles between samples",
            lines: lines.collect(),
        };
        chart.write(&folder.join(format!("errors-over-period-{name}.svg")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_of_workloads() {
        let row = |workload: &str, error: f64| {
            let of_core = |techniques: &[&str]| {
                let errors = techniques.iter().map(|technique| format!(" {technique} {error}"));
                let errors: String = errors.collect();
                let lines = MODES.map(|mode| format!("31 {mode} 200{errors}"));
                lines.iter().filter_map(|line| told(line)).collect()
            };
            let cores = TECHNIQUES.iter().map(|(_, techniques)| of_core(techniques)).collect();
            Row { workload: workload.into(), cores }
        };
        let rows = [row("one", 0.01), row("other", 0.03)];
        let table = means(&rows, &[31]);
        assert_eq!(table[1][..3], ["31", "200", "2.0 %, 2.0 %"]);
        assert_eq!(each(&rows, &[31])[2], ["other", "3.0 %, 3.0 %"]);
    }

    #[test]
    fn lines_of_other_words_are_refused() {
        assert!(told("31 periodic 5 TIP 0.5").is_some());
        assert!(told("31 periodic").is_none());
        assert!(told("31 periodic 5 TIP").is_none());
    }
}
