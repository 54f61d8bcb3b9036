//! `cargo xtask bench periods`: how the errors of profilers that sample depend on how often they do, and on whether they
//! do so periodically or at random: figures A.11a, A.11b and B.8 of the papers on TIP and TEA.

use super::compared::{Comparer, Simulated};
use super::table::Destination;
use crate::suite::{self, Size};
use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;
use std::path::Path;

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
}

/// The table's name in a Markdown file.
const TABLE: &str = "periods";

/// Techniques, each on its paper's core.
const TECHNIQUES: [(&str, &[&str]); 2] =
    [("boom-4w-tip", &["TIP", "NCI", "Software"]), ("boom-4w-tea", &["TEA", "NCI-TEA", "IBS"])];

/// Seconds after which a workload is killed.
const LIMIT_SECONDS: u32 = 1200;

/// Prints a row for each period.
///
/// # Errors
/// If a workload cannot be simulated.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    options.into.check(TABLE)?;
    let comparer = Comparer::build(root, "periods")?;
    let workloads = suite::select(root, &options.names)?;
    let mut rows = vec![titles()];
    for &period in &options.periods {
        let mut row = vec![period.to_string()];
        let mut samples = Vec::new();
        for (core, techniques) in TECHNIQUES {
            let mut sums = vec![[0.0; 2]; techniques.len()];
            for (mode, periodic) in [true, false].into_iter().enumerate() {
                let (skip, instructions) = (options.skip, options.instructions);
                let simulated = Simulated { core, skip, instructions, windows: 1, period, periodic };
                for workload in &workloads {
                    let document = comparer.simulate(workload, Size::Test, LIMIT_SECONDS, &simulated)?;
                    samples.extend(document["accuracy"]["samples"].as_u64());
                    for (sum, technique) in sums.iter_mut().zip(techniques) {
                        sum[mode] += error(&document, technique)?;
                    }
                }
            }
            let percent = |sum: f64| format!("{:.1} %", 100.0 * sum / workloads.len() as f64);
            row.extend(sums.iter().flat_map(|sum| sum.map(percent)));
        }
        row.insert(1, samples.iter().min().copied().unwrap_or(0).to_string());
        println!("{}", row.join("  "));
        rows.push(row);
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
    options.into.put(TABLE, &caption, &rows)
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
