//! What a trace costs in a program whose work is divided among many threads, against one thread that does it alone; and
//! that the program does the same, with all its threads.

use super::statistics::{median, median_interval};
use super::table::Destination;
use super::tracing::{compiled, counts};
use crate::profiler::Profiler;
use crate::usage::wait_with_usage;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use timewise_profile::Profile;

/// What to measure, and how.
#[derive(Args)]
pub struct Options {
    /// Threads among which the work is divided, by commas: the first number is what others are compared with
    #[arg(long, value_delimiter = ',', default_value = "1,2,16,64")]
    threads: Vec<u32>,
    /// Traces per second of CPU time: so many that what they cost stands out
    #[arg(short = 'F', long, default_value_t = 5000)]
    frequency: u32,
    /// Branches of a trace
    #[arg(long, default_value_t = 16)]
    length: u32,
    /// Pieces of work in all
    #[arg(long, default_value_t = 1_500_000)]
    pieces: u32,
    /// Rounds of a native and a traced run for each number of threads; fewer than six give no interval
    #[arg(long, default_value_t = 6)]
    rounds: u32,
    /// Fail if a trace costs more than so many times what it costs the first
    #[arg(long, default_value_t = 2.0)]
    most_times: f64,
    #[command(flatten)]
    into: Destination,
}

/// The table's name in a Markdown file.
const TABLE: &str = "cost of a trace";

/// Prints CPU time of a trace by the number of threads.
///
/// # Errors
/// If a program does something else than natively, or a trace costs more among threads than is allowed.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    options.into.check(TABLE)?;
    let program = compiled(root, "threads")?;
    let bench = Bench { timewise: Profiler::build(root)?.program, program, options };
    let mut all = vec![vec![Vec::new(); options.threads.len()]; 2];
    for _ in 0..options.rounds {
        for (number, &threads) in options.threads.iter().enumerate() {
            let [cost_us, ratio] = bench.round(threads)?;
            all[0][number].push(cost_us);
            all[1][number].push(ratio);
        }
    }
    let titles = ["threads", "CPU time against native", "µs a trace", "times"].map(String::from);
    let mut rows = vec![titles];
    let mut above = Vec::new();
    let first = all[0].first().map_or(f64::NAN, |costs| median(costs));
    for ((threads, costs), ratios) in options.threads.iter().zip(&all[0]).zip(&all[1]) {
        let times = median(costs) / first;
        if times > options.most_times {
            above.push(threads.to_string());
        }
        let interval =
            median_interval(costs).map_or(String::new(), |(low, high)| format!(" ({low:.0}-{high:.0})"));
        rows.push([
            threads.to_string(),
            format!("{:.3}", median(ratios)),
            format!("{:.0}{interval}", median(costs)),
            format!("{times:.2}"),
        ]);
    }
    rows.iter().for_each(|row| println!("{}", row.join("  ")));
    let Options { frequency, length, rounds, .. } = options;
    let caption =
        format!("`-F {frequency} --length {length} --rounds {rounds}`: medians, with intervals of 95 %");
    options.into.put(TABLE, &caption, &rows)?;
    ensure!(
        above.is_empty(),
        "a trace costs more among so many threads than is allowed: {}",
        above.join(" ")
    );
    Ok(())
}

struct Bench<'a> {
    timewise: PathBuf,
    program: PathBuf,
    options: &'a Options,
}

impl Bench<'_> {
    /// A native run and a traced one with so many threads: microseconds of CPU time that a trace costs, and CPU time
    /// against native.
    fn round(&self, threads: u32) -> Result<[f64; 2]> {
        let words = [threads, self.options.pieces].map(|number| number.to_string());
        let mut native = Command::new(&self.program);
        let (native_s, expected, _) = self.once(native.args(&words))?;
        let profile = self.program.with_extension("tw");
        let mut traced = Command::new(&self.timewise);
        let [rate, length] = [self.options.frequency, self.options.length].map(|number| number.to_string());
        traced.args(["branches", "-F", &rate, "--length", &length, "-o"]).arg(&profile).arg("--");
        let (_, output, said) = self.once(traced.arg(&self.program).args(&words))?;
        ensure!(output == expected, "{threads} threads: {output:?} rather than {expected:?}");
        let run = Profile::load(&profile)?.runs.swap_remove(0);
        let traced_s = (run.user_ns + run.kernel_ns) as f64 / 1e9;
        let [traces, _] = counts(&said).context("timewise says no counts")?;
        Ok([1e6 * (traced_s - native_s) / traces, traced_s / native_s])
    }

    /// Runs a command: its CPU time in seconds, and what it writes.
    fn once(&self, command: &mut Command) -> Result<(f64, String, String)> {
        let [output, errors] = ["out", "err"].map(|extension| self.program.with_extension(extension));
        command.stdout(File::create(&output)?).stderr(File::create(&errors)?);
        let used = wait_with_usage(command.spawn().context("threads")?)?;
        let [output, errors] = [output, errors].map(std::fs::read_to_string);
        let errors = errors?;
        ensure!(used.status.success(), "{}: {errors}", used.status);
        Ok(((used.user + used.kernel).as_secs_f64(), output?, errors))
    }
}
