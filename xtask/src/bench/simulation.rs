//! `cargo xtask bench simulation`: how fast a core is simulated, what workers cost that look at it, and whether they find
//! the same however they are seated.
//!
//! What workers cost is told by the CPU time of the thread that simulates, with records that nobody sees and with the
//! reference and TIP at the trace: where a processor is free for the workers, that thread is what takes the time, as long
//! as the busiest of them takes less. The wall time also has whatever else the machine does.

use super::statistics::median;
use super::table::Destination;
use crate::counter::{build_example, target_folder};
use crate::suite::{self, Size, Workload, execute};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::{Path, PathBuf};

/// What to measure, and how.
#[derive(Args)]
pub struct Options {
    /// Workloads
    #[arg(default_values = ["bzip2-g", "lua-g", "cc1", "lbm", "mcf"])]
    names: Vec<String>,
    /// The core
    #[arg(long, default_value = "raptor-cove")]
    core: String,
    /// Instructions of each run
    #[arg(long, default_value_t = 20_000_000)]
    instructions: u64,
    /// Rounds, each with a run without workers and one with
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    #[command(flatten)]
    into: Destination,
}

/// The table's name in a Markdown file.
const TABLE: &str = "simulation";

const COLUMNS: [&str; 7] = [
    "workload",
    "unseen",
    "with workers",
    "cost",
    "busiest worker",
    "million a second of wall time",
    "MiB, and of five times as many",
];

/// Seconds after which a run is killed.
const LIMIT_SECONDS: u32 = 1200;

/// What the example `workers` tells of a run.
struct Run {
    instructions: u64,
    elapsed_ns: u64,
    cpu_ns: u64,
    worker_ns: u64,
    peak_kib: u64,
    found: u64,
}

/// Prints a row for each workload.
///
/// # Errors
/// If a workload cannot be simulated, or workers find something else on one thread than on two.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    options.into.check(TABLE)?;
    let bench = Bench {
        example: build_example(root, "workers")?,
        work: suite::work_folder(root)?,
        file: target_folder(root).join("workers"),
        options,
    };
    let caption = format!(
        "{}, the first {} million instructions of workloads at size test, medians of {} rounds: millions of instructions for \
         each second of CPU time of the thread that simulates, with records that nobody sees, and with the reference and TIP \
         at the trace, what these cost, and CPU time of the busier of the two as a part of that thread's; the most memory \
         that was resident",
        options.core,
        options.instructions / 1_000_000,
        options.rounds
    );
    println!("{caption}");
    let mut rows = vec![COLUMNS.map(String::from)];
    for workload in suite::select(root, &options.names)? {
        let row = bench.measure(&workload)?;
        println!("{}", row.join("  "));
        rows.push(row);
    }
    options.into.put(TABLE, &caption, &rows)
}

struct Bench<'a> {
    example: PathBuf,
    work: PathBuf,
    file: PathBuf,
    options: &'a Options,
}

impl Bench<'_> {
    fn measure(&self, workload: &Workload) -> Result<[String; COLUMNS.len()]> {
        let instructions = self.options.instructions;
        let (mut alone, mut watched) = (Vec::new(), Vec::new());
        for _ in 0..self.options.rounds.max(1) {
            alone.push(self.once(workload, "unseen", instructions)?);
            watched.push(self.once(workload, "apart", instructions)?);
        }
        let together = self.once(workload, "together", instructions)?;
        let same = watched.iter().all(|run| run.found == together.found);
        ensure!(same, "{}: workers find something else on one thread", workload.name);
        let long = self.once(workload, "apart", 5 * instructions)?;
        let speed = |run: &Run| 1e3 * run.instructions as f64 / run.cpu_ns as f64;
        let of =
            |runs: &[Run], value: &dyn Fn(&Run) -> f64| median(&runs.iter().map(value).collect::<Vec<_>>());
        let pairs: Vec<f64> =
            alone.iter().zip(&watched).map(|(alone, watched)| speed(alone) / speed(watched) - 1.0).collect();
        let mib = |run: &Run| run.peak_kib as f64 / 1024.0;
        Ok([
            workload.name.clone(),
            format!("{:.2}", of(&alone, &speed)),
            format!("{:.2}", of(&watched, &speed)),
            format!("{:+.1} %", 100.0 * median(&pairs)),
            format!("{:.0} %", 100.0 * of(&watched, &|run| run.worker_ns as f64 / run.cpu_ns as f64)),
            format!("{:.2}", of(&watched, &|run| 1e3 * run.instructions as f64 / run.elapsed_ns as f64)),
            format!("{:.0}, {:.0}", of(&watched, &mib), mib(&long)),
        ])
    }

    fn once(&self, workload: &Workload, seating: &str, instructions: u64) -> Result<Run> {
        let [example, file] = [&self.example, &self.file].map(|path| path.to_string_lossy().into_owned());
        let prefix =
            [example, self.options.core.clone(), seating.to_string(), instructions.to_string(), file];
        let executed = execute(workload, Size::Test, &self.work, &prefix, LIMIT_SECONDS)?;
        let line = std::fs::read_to_string(&self.file)
            .with_context(|| format!("{}: {}", workload.name, executed.last_words()))?;
        // What follows must not be taken for the next run's.
        std::fs::remove_file(&self.file)?;
        told(&line).with_context(|| format!("the example tells no figures: {line}"))
    }
}

fn told(line: &str) -> Option<Run> {
    let mut numbers = line.split_whitespace().map(|word| word.parse().ok());
    let mut next = || numbers.next().flatten();
    Some(Run {
        instructions: next()?,
        elapsed_ns: next()?,
        cpu_ns: next()?,
        worker_ns: next()?,
        peak_kib: next()?,
        found: next()?,
    })
}
