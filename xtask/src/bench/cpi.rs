//! `cargo xtask bench cpi`: cycles per instruction of programs as they are natively and as a core model has them.
//!
//! Natively: CPU time of the best of some runs, times the clock that a chain of additions shows around that run; of that
//! the part of user code, which the kernel tells by its ticks, so over all runs together. What it takes to start a program
//! is taken off, and the rest divided by counted instructions. In the model: windows of a million instructions at equal
//! distances over the whole run, behind instructions that warm caches and predictors.
//!
//! A processor that shares its core with another that is busy has fewer ports and less cache, which a chain of additions
//! does not show: it needs a quarter of the adders. So runs around which independent additions go slower do not count.

use super::samples::{Sampled, Sampler, Windows, wait_for_a_line};
use super::table::Destination;
use crate::profiler::NATIVE;
use crate::suite::{self, Executed, Size, Workload, execute};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What to measure, and how.
#[derive(Args)]
pub struct Options {
    /// Workloads; all of one thread that are neither servers nor process trees if none is named
    names: Vec<String>,
    /// The core, by its name or file; native is that of this machine
    #[arg(long, default_value = NATIVE)]
    core: String,
    /// Windows that are simulated
    #[arg(long, default_value_t = 24)]
    windows: u64,
    /// Instructions before each window that warm caches and predictors
    #[arg(long, default_value_t = 4_000_000)]
    warming: u64,
    /// Native runs, of which the best counts
    #[arg(long, default_value_t = 12)]
    natives: u32,
    /// When all is simulated, wait for a line on standard input: from then on the machine should do nothing else
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    into: Destination,
}

/// The table's name in a Markdown file, which that of the core follows.
const TABLE: &str = "cpi";

/// Instructions of a window.
const WINDOW: u64 = 1_000_000;

/// By how much the clock may differ before and behind a native run that counts.
const STEADY: f64 = 0.02;

/// By how much independent additions may be slower than they were at best: a shared core takes up to 30 % more.
const SHARED: f64 = 0.12;

/// What four independent additions take at most on a core of one's own, by one of a chain: it differs by design, and is
/// the most on Zen.
const ALONE: f64 = 1.03;

/// Seconds after which a run is killed.
const LIMIT_SECONDS: u32 = 1800;

/// Prints a row for each workload, then the mean of the absolute errors.
///
/// # Errors
/// If a workload cannot be counted or simulated.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let windows = Windows { count: options.windows, length: WINDOW, warming: options.warming };
    let bench = Bench {
        sampler: Sampler::build(root, &options.core, windows)?,
        work: suite::work_folder(root)?,
        options,
        least: Cell::new(ALONE),
    };
    let table = format!("{TABLE} {}", bench.sampler.core());
    options.into.check(&table)?;
    let workloads = suite::select_single_threaded(root, &options.names)?;
    let sampled: Vec<Sampled> =
        workloads.iter().map(|workload| bench.sample(workload)).collect::<Result<_>>()?;
    if options.wait {
        wait_for_a_line()?;
    }
    let mut rows = vec![["workload", "measured", "modelled", "error"].map(String::from)];
    let (mut errors, mut untimed) = (Vec::new(), 0);
    for (workload, sampled) in workloads.iter().zip(&sampled) {
        let modelled = sampled.cycles_per_instruction;
        let Some(cycles) = bench.native_cycles(workload)? else {
            eprintln!("{}: the clock was never steady, or the core shared", workload.name);
            untimed += 1;
            continue;
        };
        let measured = cycles / sampled.instructions;
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
         instructions, each behind {} million that warm; the mean of the absolute errors is {:.0} %",
        bench.sampler.core(),
        errors.len(),
        options.natives,
        options.windows,
        options.warming / 1_000_000,
        100.0 * errors.iter().sum::<f64>() / errors.len().max(1) as f64
    );
    println!("{caption}");
    ensure!(untimed == 0, "workloads that could not be timed: {untimed}; the table is not written");
    options.into.put(&table, &caption, &rows)
}

struct Bench<'a> {
    sampler: Sampler,
    work: PathBuf,
    options: &'a Options,
    /// What independent additions took at best, by a chain of them.
    least: Cell<f64>,
}

impl Bench<'_> {
    /// What the model makes of a workload.
    fn sample(&self, workload: &Workload) -> Result<Sampled> {
        let run =
            |prefix: &[String]| Ok(execute(workload, Size::Test, &self.work, prefix, LIMIT_SECONDS)?.errors);
        self.sampler.sample(run).with_context(|| workload.name.clone())
    }

    /// Cycles of user code of the program alone; none if no run counts.
    fn native_cycles(&self, workload: &Workload) -> Result<Option<f64>> {
        let once = |prefix: &[String]| execute(workload, Size::Test, &self.work, prefix, LIMIT_SECONDS);
        let (mut runs, mut clocks) = (Vec::new(), Vec::new());
        let mut started = Vec::new();
        // Three times as many at most: on a crowded machine the core may never be our own.
        for _ in 0..3 * self.options.natives.max(1) {
            let (before, first) = (clock_hz(), self.is_shared());
            let executed = once(&[])?;
            let (behind, then) = (clock_hz(), self.is_shared());
            // What stands in the program's place does nothing.
            started.push(once(&["true".to_string()])?);
            if (before / behind - 1.0).abs() < STEADY && !first && !then {
                clocks.push((before + behind) / 2.0);
                runs.push(executed);
            }
            if runs.len() == self.options.natives.max(1) as usize {
                break;
            }
        }
        if runs.is_empty() {
            return Ok(None);
        }
        let of = |runs: &[Executed], time: fn(&Executed) -> Duration| -> Vec<f64> {
            runs.iter().map(|run| time(run).as_secs_f64()).collect()
        };
        let mean = |times: Vec<f64>| times.iter().sum::<f64>() / times.len() as f64;
        let [user, all] = [|run: &Executed| run.user, |run: &Executed| run.cpu()]
            .map(|time| mean(of(&runs, time)) - mean(of(&started, time)));
        let starting = of(&started, Executed::cpu).into_iter().fold(f64::INFINITY, f64::min);
        let cycles = of(&runs, Executed::cpu).into_iter().zip(clocks);
        let least = cycles.map(|(cpu, hz)| (cpu - starting) * hz).fold(f64::INFINITY, f64::min);
        Ok(Some(least * user / all))
    }

    /// Whether another busy processor shares the core at this moment: additions that do not wait for one another then take
    /// longer than at best. Half of some moments say it, as single ones may be disturbed either way.
    fn is_shared(&self) -> bool {
        const ROUNDS: u64 = 4_000;
        const MOMENTS: usize = 9;
        let mut taken: Vec<f64> =
            (0..MOMENTS).map(|_| seconds(|| independent(4 * ROUNDS)) / seconds(|| chained(ROUNDS))).collect();
        taken.sort_by(f64::total_cmp);
        let taken = taken[MOMENTS / 2];
        self.least.set(self.least.get().min(taken));
        taken > (1.0 + SHARED) * self.least.get()
    }
}

/// The processor's clock at this moment: additions that wait for one another take a cycle each.
fn clock_hz() -> f64 {
    const ROUNDS: u64 = 20_000;
    let best = (0..20).map(|_| seconds(|| chained(ROUNDS))).fold(f64::INFINITY, f64::min);
    (ROUNDS * ADDITIONS) as f64 / best
}

fn seconds(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64()
}

/// Additions of a round.
const ADDITIONS: u64 = 100;

fn chained(rounds: u64) {
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

fn independent(rounds: u64) {
    // SAFETY: changes nothing but its own registers.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 25",
            "lea {a}, [{one} + 1]",
            "lea {b}, [{one} + 1]",
            "lea {c}, [{one} + 1]",
            "lea {d}, [{one} + 1]",
            ".endr",
            "sub {rounds}, 1",
            "jnz 2b",
            a = out(reg) _,
            b = out(reg) _,
            c = out(reg) _,
            d = out(reg) _,
            one = in(reg) 1_u64,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack)
        );
    }
}
