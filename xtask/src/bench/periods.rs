//! `cargo xtask bench periods`: how the errors of profilers that sample depend on how often they do, and on whether they
//! do so periodically or at random: figures A.11a, A.11b and B.8 of the papers on TIP and TEA.

use super::chart::{Chart, Line};
use super::compared::{Comparer, Simulated};
use super::table::Destination;
use crate::suite::{self, Size, Workload};
use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What to measure, and how.
#[derive(Args)]
pub struct Options {
    /// Workloads
    #[arg(default_values = ["perl", "bzip2-g", "lua-g", "lbm", "mcf"])]
    names: Vec<String>,
    /// Cycles between samples
    #[arg(long, value_delimiter = ',', default_values_t = [32, 100, 320, 1000, 3200, 10_000])]
    periods: Vec<u64>,
    /// Instructions that pass before the core begins
    #[arg(long, default_value_t = 30_000_000)]
    skip: u64,
    /// Instructions that are simulated
    #[arg(long, default_value_t = 10_000_000)]
    instructions: u64,
    #[command(flatten)]
    into: Destination,
    /// A folder for charts
    #[arg(long)]
    charts: Option<PathBuf>,
}

/// The table's name in a Markdown file.
const TABLE: &str = "periods";

/// Techniques, each on its paper's core.
const TECHNIQUES: [(&str, &[&str]); 2] =
    [("boom-4w-tip", &["TIP", "NCI", "Software"]), ("boom-4w-tea", &["TEA", "NCI-TEA", "IBS"])];

/// Seconds after which a workload is killed.
const LIMIT_SECONDS: u32 = 1200;

/// Errors of all techniques at a period, each of periodic and of random samples.
struct Point {
    period: u64,
    /// The fewest of a workload.
    samples: u64,
    errors: Vec<[f64; 2]>,
}

/// Fewer samples than this leave too much to chance.
const ENOUGH: u64 = 100_000;

/// Prints a row for each period.
///
/// # Errors
/// If a workload cannot be simulated.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    options.into.check(TABLE)?;
    let comparer = Comparer::build(root, "periods")?;
    let workloads = suite::select(root, &options.names)?;
    let mut points = Vec::new();
    for &period in &options.periods {
        let point = measure(&comparer, &workloads, options, period)?;
        println!("{}", row(&point).join("  "));
        points.push(point);
    }
    let caption = format!(
        "Mean errors by instruction over the period in cycles, {} million instructions of {} behind the first {} million, \
         techniques of either paper on its core; periodic samples are of the last cycle of every period, random ones of \
         any",
        options.instructions / 1_000_000,
        options.names.join(", "),
        options.skip / 1_000_000
    );
    println!("{caption}");
    let rows: Vec<_> = std::iter::once(titles()).chain(points.iter().map(row)).collect();
    options.into.put(TABLE, &caption, &rows)?;
    match &options.charts {
        Some(folder) => charts(folder, &points),
        None => Ok(()),
    }
}

fn measure(comparer: &Comparer, workloads: &[Workload], options: &Options, period: u64) -> Result<Point> {
    let mut point = Point { period, samples: u64::MAX, errors: Vec::new() };
    for (core, techniques) in TECHNIQUES {
        let mut sums = vec![[0.0; 2]; techniques.len()];
        for (mode, periodic) in [true, false].into_iter().enumerate() {
            let (skip, instructions) = (options.skip, options.instructions);
            let simulated = Simulated { core, skip, instructions, windows: 1, period, periodic };
            for workload in workloads {
                let document = comparer.simulate(workload, Size::Test, LIMIT_SECONDS, &simulated)?;
                point.samples = point.samples.min(document["accuracy"]["samples"].as_u64().unwrap_or(0));
                for (sum, technique) in sums.iter_mut().zip(techniques) {
                    sum[mode] += error(&document, technique)? / workloads.len() as f64;
                }
            }
        }
        point.errors.extend(sums);
    }
    Ok(point)
}

fn row(point: &Point) -> Vec<String> {
    let errors = point.errors.iter().flatten().map(|error| format!("{:.1} %", 100.0 * error));
    [point.period, point.samples].map(|number| number.to_string()).into_iter().chain(errors).collect()
}

/// Draws a chart for each paper: `errors-over-period-CORE.svg`.
fn charts(folder: &Path, points: &[Point]) -> Result<()> {
    let mut before = 0;
    for (core, techniques) in TECHNIQUES {
        let lines = techniques.iter().enumerate().flat_map(|(colour, technique)| {
            ["periodic", "random"].into_iter().enumerate().map(move |(mode, word)| {
                let point = |point: &Point| {
                    (point.period as f64, point.errors[before + colour][mode], point.samples >= ENOUGH)
                };
                let points = points.iter().map(point).collect();
                Line { name: format!("{technique}, {word}"), colour, dashed: mode == 0, points }
            })
        });
        let chart = Chart {
            title: "errors by instruction (hollow: fewer than 100,000 samples)",
            across: "cycles between samples",
            lines: lines.collect(),
        };
        chart.write(&folder.join(format!("errors-over-period-{core}.svg")))?;
        before += techniques.len();
    }
    Ok(())
}

fn titles() -> Vec<String> {
    let names = TECHNIQUES.iter().flat_map(|(_, techniques)| techniques.iter());
    let modes = names.flat_map(|name| ["periodic", "random"].map(|mode| format!("{name}, {mode}")));
    ["period", "samples at least"].map(String::from).into_iter().chain(modes).collect()
}

/// A technique's error by instruction.
fn error(document: &Value, technique: &str) -> Result<f64> {
    let rows = document["accuracy"]["errors"].as_array().context("no errors")?;
    let row = rows.iter().find(|row| row["technique"] == technique);
    row.and_then(|row| row["instruction"].as_f64()).with_context(|| format!("no {technique}"))
}
