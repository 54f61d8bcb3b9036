//! `cargo xtask bench profilers`: how far profilers that sample are from what a modelled core spends, over workloads of
//! the suite, beside what the papers on TIP and TEA found with programs of SPEC on an FPGA.
//!
//! The techniques of either paper are compared on that paper's core. `--into FILE` also writes the tables there, as
//! `docs/cycle-stacks.md` has them.

use super::compared::{Comparer, Simulated};
use super::table::Destination;
use crate::suite::{self, Size, Workload};
use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;
use std::path::Path;

/// What to measure, and how.
#[derive(Args)]
pub struct Options {
    /// Workloads
    #[arg(default_values = DEFAULT)]
    names: Vec<String>,
    /// One core for all techniques [default: that of each paper]
    #[arg(long)]
    core: Option<String>,
    /// Size of the input
    #[arg(long, value_enum, default_value_t = Size::Test)]
    size: Size,
    /// Instructions that pass before the core begins
    #[arg(long, default_value_t = 30_000_000)]
    skip: u64,
    /// Instructions that are simulated
    #[arg(long, default_value_t = 20_000_000)]
    instructions: u64,
    /// Cycles between samples
    #[arg(long, default_value_t = 31)]
    period: u64,
    /// Sample the last cycle of every period rather than a random one
    #[arg(long)]
    periodic: bool,
    /// Seconds after which a workload is killed
    #[arg(long, default_value_t = 1200)]
    limit: u32,
    #[command(flatten)]
    into: Destination,
}

/// Workloads of one thread and of different kinds.
const DEFAULT: [&str; 15] = [
    "perl",
    "bzip2-g",
    "cc1",
    "gnugo-g",
    "hmmsearch",
    "x264",
    "imagick",
    "xz",
    "python",
    "sqlite",
    "lua-g",
    "gzip",
    "lbm",
    "mcf",
    "qsortdiv",
];

/// Fewer samples than this leave too much to chance.
const ENOUGH: u64 = 100_000;

/// The tables' names in a Markdown file.
const MEANS: &str = "profilers";
const EACH: &str = "profilers by workload";

/// A technique with its paper's mean errors in per cent.
struct Published {
    technique: &'static str,
    core: &'static str,
    /// By instruction, block and function, where they are given.
    errors: [Option<f64>; UNITS.len()],
}

/// Granularities, as fields of the document.
const UNITS: [&str; 3] = ["instruction", "block", "function"];

/// A technique of paper A, section 5.1 and figure A.11c.
const fn tip(technique: &'static str, errors: [Option<f64>; UNITS.len()]) -> Published {
    Published { technique, core: "boom-4w-tip", errors }
}

/// A technique of paper B, section 5.
const fn tea(technique: &'static str, by_instruction: f64) -> Published {
    Published { technique, core: "boom-4w-tea", errors: [Some(by_instruction), None, None] }
}

const PUBLISHED: [Published; 12] = [
    tip("TIP", [Some(1.6), Some(0.7), Some(0.3)]),
    tip("TIP-ILP", [Some(7.2), Some(1.2), Some(0.4)]),
    tip("NCI", [Some(9.3), Some(2.3), Some(0.6)]),
    tip("NCI+ILP", [Some(19.3), None, None]),
    tip("LCI", [Some(55.4), Some(11.9), Some(1.6)]),
    tip("Dispatch", [Some(53.1), Some(22.4), Some(5.8)]),
    tip("Software", [Some(61.8), Some(29.9), Some(9.1)]),
    tea("TEA", 2.1),
    tea("NCI-TEA", 11.3),
    tea("IBS", 55.6),
    tea("SPE", 55.5),
    tea("RIS", 56.0),
];

/// Errors of each technique in one workload.
struct Found {
    name: String,
    /// The fewest of its simulations.
    samples: u64,
    /// The part of the cycles in which instructions commit.
    computing: f64,
    errors: Vec<[Error; UNITS.len()]>,
}

/// A part of all cycles that is attributed otherwise than by the reference.
#[derive(Clone, Copy)]
struct Error {
    total: f64,
    /// What of it more samples would not mend.
    systematic: f64,
}

/// Prints the errors of each workload and their means.
///
/// # Errors
/// If a workload cannot be simulated, or gives too few samples.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    // Before minutes of work that it would be for.
    [MEANS, EACH].iter().try_for_each(|name| options.into.check(name))?;
    let bench = Bench { comparer: Comparer::build(root, "profilers")?, options };
    let mut found = Vec::new();
    for workload in suite::select(root, &options.names)? {
        let one = bench.measure(&workload)?;
        println!("{:12} {:>9} samples  {}", one.name, one.samples, told(&one));
        ensure!(one.samples >= ENOUGH, "{}: {} samples are too few", one.name, one.samples);
        found.push(one);
    }
    let caption = caption(options, &found);
    println!("{caption}");
    let means = means(&found);
    means.iter().for_each(|row| println!("{}", row.join("  ")));
    options.into.put(MEANS, &caption, &means)?;
    let caption =
        "Errors by instruction of each workload, and the part of paper A's core's cycles in which it commits";
    options.into.put(EACH, caption, &each(&found))
}

struct Bench<'a> {
    comparer: Comparer,
    options: &'a Options,
}

impl Bench<'_> {
    /// Simulates a workload once for each core.
    fn measure(&self, workload: &Workload) -> Result<Found> {
        let name = workload.name.clone();
        let mut found = Found { name, samples: u64::MAX, computing: f64::NAN, errors: Vec::new() };
        for of_core in PUBLISHED.chunk_by(|one, next| self.core(one) == self.core(next)) {
            let Options { size, limit, skip, instructions, period, periodic, .. } = *self.options;
            let core = self.core(&of_core[0]);
            let simulated = Simulated { core, skip, instructions, windows: 1, period, periodic };
            let document = self.comparer.simulate(workload, size, limit, &simulated)?;
            let cycles = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
            let computing = cycles(&document["categories"]["execution"]) / cycles(&document["cycles"]);
            // By the first core, where they differ.
            found.computing = if found.errors.is_empty() { computing } else { found.computing };
            let accuracy = &document["accuracy"];
            let rows = accuracy["errors"].as_array().context("no errors")?;
            for published in of_core {
                let row = rows.iter().find(|row| row["technique"] == published.technique);
                let row = row.with_context(|| format!("no {}", published.technique))?;
                found.errors.push(UNITS.map(|unit| {
                    let value = |field: &str| row[field].as_f64().unwrap_or(f64::NAN);
                    Error { total: value(unit), systematic: value(&format!("{unit}_systematic")) }
                }));
            }
            found.samples = found.samples.min(accuracy["samples"].as_u64().unwrap_or(0));
        }
        Ok(found)
    }

    fn core<'a>(&'a self, published: &'a Published) -> &'a str {
        self.options.core.as_deref().unwrap_or(published.core)
    }
}

fn caption(options: &Options, found: &[Found]) -> String {
    format!(
        "Mean errors on {}, {} workloads at size {}, {} million instructions of each behind the first {} million, a sample \
         at {} cycle of every {}, {} samples at least; in brackets what of the error more samples would not mend",
        options.core.as_deref().unwrap_or("the core of each paper"),
        found.len(),
        options.size.word(),
        options.instructions / 1_000_000,
        options.skip / 1_000_000,
        if options.periodic { "the last" } else { "a random" },
        options.period,
        found.iter().map(|one| one.samples).min().unwrap_or(0)
    )
}

/// A workload's errors by instruction in a line.
fn told(one: &Found) -> String {
    let each = PUBLISHED.iter().zip(&one.errors);
    let each =
        each.map(|(published, errors)| format!("{} {}", published.technique, percent(errors[0].total)));
    each.collect::<Vec<_>>().join("  ")
}

fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

fn means(found: &[Found]) -> Vec<Vec<String>> {
    let mut head = vec!["technique".to_string()];
    head.extend(UNITS.iter().flat_map(|unit| [format!("by {unit}"), "the paper".to_string()]));
    let mut rows = vec![head];
    for (at, published) in PUBLISHED.iter().enumerate() {
        let mut row = vec![published.technique.to_string()];
        for (unit, paper) in published.errors.iter().enumerate() {
            let mean = |of: fn(&Error) -> f64| {
                found.iter().map(|one| of(&one.errors[at][unit])).sum::<f64>() / found.len().max(1) as f64
            };
            row.push(format!("{} ({})", percent(mean(|e| e.total)), percent(mean(|e| e.systematic))));
            row.push(paper.map_or(String::new(), |paper| format!("{paper:.1} %")));
        }
        rows.push(row);
    }
    rows
}

fn each(found: &[Found]) -> Vec<Vec<String>> {
    let names = PUBLISHED.iter().map(|published| published.technique.to_string());
    let mut rows =
        vec![["workload", "computing"].map(String::from).into_iter().chain(names).collect::<Vec<_>>()];
    rows.extend(found.iter().map(|one| {
        let errors = one.errors.iter().map(|errors| percent(errors[0].total));
        [one.name.clone(), percent(one.computing)].into_iter().chain(errors).collect()
    }));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_of_workloads() {
        let one = |total| Found {
            name: "one".into(),
            samples: 1,
            computing: 0.5,
            errors: vec![[Error { total, systematic: total / 2.0 }; UNITS.len()]; PUBLISHED.len()],
        };
        let rows = means(&[one(0.01), one(0.03)]);
        assert_eq!(rows.len(), 1 + PUBLISHED.len());
        assert_eq!(rows[1][..3], ["TIP", "2.0 % (1.0 %)", "1.6 %"]);
        assert_eq!(rows[4], ["NCI+ILP", "2.0 % (1.0 %)", "19.3 %", "2.0 % (1.0 %)", "", "2.0 % (1.0 %)", ""]);
    }
}
