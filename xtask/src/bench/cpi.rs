//! `cargo xtask bench cpi`: cycles per instruction of programs as they are natively and as a core model has them.
//!
//! Natively: user time of the best of some runs, times the clock that a chain of additions shows around that run, by
//! counted instructions. In the model: windows of a million instructions at equal distances over the whole run, behind
//! instructions that warm caches and predictors.

use super::table;
use crate::counter::{build_example_of, target_folder};
use crate::profiler::Profiler;
use crate::suite::{self, Size, Workload, execute};
use anyhow::{Context, Result};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Instant;
use timewise_profile::Profile;

/// What to measure, and how.
#[derive(Args)]
pub struct Options {
    /// Workloads; all of one thread that are neither servers nor process trees if none is named
    names: Vec<String>,
    /// The core: that of this machine
    #[arg(long, default_value = "zen-4")]
    core: String,
    /// Windows that are simulated
    #[arg(long, default_value_t = 24)]
    windows: u64,
    /// Native runs, of which the best counts
    #[arg(long, default_value_t = 7)]
    natives: u32,
    /// A Markdown file whose table is to be replaced
    #[arg(long)]
    into: Option<PathBuf>,
}

/// The table's name in a Markdown file.
const TABLE: &str = "cpi";

/// Instructions of a window.
const WINDOW: u64 = 1_000_000;

/// Seconds after which a run is killed.
const LIMIT_SECONDS: u32 = 1800;

/// Prints a row for each workload, then the mean of the absolute errors.
///
/// # Errors
/// If a workload cannot be counted or simulated.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    options.into.as_deref().map(|file| table::around(file, TABLE)).transpose()?;
    let bench = Bench {
        timewise: Profiler::build(root)?.program,
        simulator: build_example_of(root, "timewise-core-model", "simulate")?,
        work: suite::work_folder(root)?,
        file: target_folder(root).join("cpi.tw"),
        options,
    };
    let mut rows = vec![["workload", "measured", "modelled", "error"].map(String::from)];
    let mut errors = Vec::new();
    for workload in suite::select_single_threaded(root, &options.names)? {
        let (measured, modelled) = bench.measure(&workload)?;
        let error = modelled / measured - 1.0;
        let row = [
            workload.name.clone(),
            format!("{measured:.3}"),
            format!("{modelled:.3}"),
            format!("{:+.0} %", 100.0 * error),
        ];
        println!("{}", row.join("  "));
        rows.push(row);
        errors.push(error.abs());
    }
    let caption = format!(
        "Cycles per instruction on {}, {} workloads at size test: the best of {} native runs, and {} windows of a million \
         instructions; the mean of the absolute errors is {:.0} %",
        options.core,
        errors.len(),
        options.natives,
        options.windows,
        100.0 * errors.iter().sum::<f64>() / errors.len().max(1) as f64
    );
    println!("{caption}");
    match &options.into {
        Some(file) => table::replace(file, TABLE, &caption, &rows),
        None => Ok(()),
    }
}

struct Bench<'a> {
    timewise: PathBuf,
    simulator: PathBuf,
    work: PathBuf,
    file: PathBuf,
    options: &'a Options,
}

impl Bench<'_> {
    /// Cycles per instruction, natively and in the model.
    fn measure(&self, workload: &Workload) -> Result<(f64, f64)> {
        let instructions = self.count(workload)?;
        let mut cycles = f64::INFINITY;
        for _ in 0..self.options.natives.max(1) {
            let before = clock_hz();
            let executed = execute(workload, Size::Test, &self.work, &[], LIMIT_SECONDS)?;
            let clock = (before + clock_hz()) / 2.0;
            cycles = cycles.min(executed.user.as_secs_f64() * clock);
        }
        Ok((cycles / instructions as f64, self.simulate(workload, instructions)?))
    }

    fn count(&self, workload: &Workload) -> Result<u64> {
        let [timewise, file] = [&self.timewise, &self.file].map(|path| path.to_string_lossy().into_owned());
        let prefix = [&timewise, "count", "-q", "--no-calls", "-o", &file, "--"].map(String::from);
        let executed = execute(workload, Size::Test, &self.work, &prefix, LIMIT_SECONDS)?;
        let profile = Profile::load(&self.file)
            .with_context(|| format!("{}: {}", workload.name, executed.last_words()))?;
        Ok(profile.threads.iter().filter_map(|thread| thread.instructions).sum())
    }

    fn simulate(&self, workload: &Workload, instructions: u64) -> Result<f64> {
        let every = (instructions / self.options.windows.max(1)).max(WINDOW);
        let mut prefix = vec![self.simulator.display().to_string(), self.options.core.clone()];
        for (option, value) in [("--execute", WINDOW), ("--every", every)] {
            prefix.extend([option.to_string(), value.to_string()]);
        }
        let executed = execute(workload, Size::Test, &self.work, &prefix, LIMIT_SECONDS)?;
        told(&executed.errors).with_context(|| format!("{}: {}", workload.name, executed.last_words()))
    }
}

/// Cycles per instruction of the first thread, as the example says.
fn told(errors: &str) -> Option<f64> {
    let line = errors.lines().find(|line| line.starts_with("stream 0:"))?;
    let (_, behind) = line.split_once("CPI ")?;
    behind.split(';').next()?.trim().parse().ok()
}

/// The processor's clock at this moment: additions that wait for one another take a cycle each.
fn clock_hz() -> f64 {
    const ROUNDS: u64 = 20_000;
    let best = (0..20).map(|_| {
        let begun = Instant::now();
        additions(ROUNDS);
        begun.elapsed().as_secs_f64()
    });
    (ROUNDS * ADDITIONS) as f64 / best.fold(f64::INFINITY, f64::min)
}

/// Additions of a round.
const ADDITIONS: u64 = 100;

fn additions(rounds: u64) {
    // SAFETY: changes nothing but its own registers.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 100",
            "add {sum}, {one}",
            ".endr",
            "sub {rounds}, 1",
            "jnz 2b",
            sum = inout(reg) 0_u64 => _,
            one = in(reg) 1_u64,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::told;

    #[test]
    fn what_the_example_says_is_read() {
        let errors =
            "noise\nstream 0: 5 instructions, CPI 0.447; computing 20.0 %\nstream 1: 2, CPI 3.0; x\n";
        assert_eq!(told(errors), Some(0.447));
        assert_eq!(told("stream 1: CPI 2;"), None);
    }
}
