//! `cargo xtask check simpoint`: basic block vectors against those of Valgrind's exp-bbv, and how well the intervals that
//! `timewise simpoint` chooses stand for what was counted.
//!
//! The two divide code into blocks each in its own way (a block of Valgrind's may go on past jumps, and overlap
//! another), and the processor that Valgrind shows to a program is another one. What can be compared is how many
//! intervals there are, of how many instructions, and how far each is from each other one.

mod functions;
mod vectors;

use super::callgrind::TUNABLES;
use crate::folder::Folder;
use crate::profiler::Profiler;
use crate::suite::{self, Size, Workload, execute};
use anyhow::{Context, Result, ensure};
use clap::Args;
use functions::Functions;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use timewise_profile::Profile;
use vectors::Vectors;

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Workloads of one thread
    #[arg(default_values_t = ["bzip2-g", "gnugo-g", "lua-g"].map(String::from))]
    names: Vec<String>,
    /// Size of the input
    #[arg(long, value_enum, default_value_t = Size::Test)]
    size: Size,
    /// Instructions of an interval
    #[arg(long, default_value_t = 1_000_000)]
    interval: u64,
    /// Seconds after which a program counts as hung
    #[arg(long, default_value_t = 600)]
    limit: u32,
}

/// By how much instructions in all may differ: what the C library chooses for another processor.
const MOST_OTHER_INSTRUCTIONS: f64 = 0.01;

/// How well distances have to agree: their correlation, and how far they may be apart on average, of 2 at most.
const LEAST_CORRELATION: f64 = 0.99;
const MOST_APART: f64 = 0.05;

/// The share of instructions that weighted points may put into other functions.
const MOST_MISPLACED: f64 = 0.05;

/// Prints a row for each workload; what is wrong stands below.
///
/// # Errors
/// If vectors do not agree, or points do not stand for the whole.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let profiler = Profiler::build(root)?;
    let scratch = Folder::of(root, "simpoint")?;
    let work = suite::work_folder(root)?;
    println!(
        "{:12} {:>9} {:>9} {:>13} {:>8} {:>8} {:>6} {:>6} {:>6} {:>7} {:>9} {:>9} {:>7}",
        "workload",
        "intervals",
        "exp-bbv's",
        "instructions",
        "exp-bbv's",
        "distance",
        "apart",
        "corr.",
        "points",
        "executed",
        "blocks",
        "functions",
        "even"
    );
    let mut faults = Vec::new();
    for workload in suite::select(root, &options.names)? {
        let compared = compare(&profiler, &workload, options, &work, &scratch)
            .with_context(|| format!("workload {}", workload.name))?;
        compared.print(&workload.name);
        let found = compared.faults();
        found.iter().for_each(|fault| println!("    {fault}"));
        faults.extend(found.into_iter().map(|fault| format!("{}: {fault}", workload.name)));
    }
    println!(
        "\ndistance: between intervals on average, of 2 at most; apart: by how much exp-bbv's differs; blocks, functions: \
         instructions that weighted points put elsewhere; even: as functions, of as many intervals at even distances"
    );
    ensure!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    Ok(())
}

/// What came of a workload.
struct Compared {
    intervals: [usize; 2],
    instructions: [f64; 2],
    distances: vectors::Agreement,
    points: usize,
    executed: f64,
    misplaced_in_blocks: f64,
    misplaced_in_functions: f64,
    misplaced_evenly: f64,
}

impl Compared {
    fn print(&self, name: &str) {
        let [ours, theirs] = self.instructions;
        println!(
            "{name:12} {:9} {:9} {ours:13} {:+7.2} % {:9.3} {:6.3} {:6.3} {:6} {:6.2} % {:7.2} % {:7.2} % {:5.2} %",
            self.intervals[0],
            self.intervals[1],
            100.0 * (theirs / ours - 1.0),
            self.distances.mean,
            self.distances.apart,
            self.distances.correlation,
            self.points,
            100.0 * self.executed,
            100.0 * self.misplaced_in_blocks,
            100.0 * self.misplaced_in_functions,
            100.0 * self.misplaced_evenly,
        );
    }

    fn faults(&self) -> Vec<String> {
        let [ours, theirs] = self.intervals;
        let other = (self.instructions[1] / self.instructions[0] - 1.0).abs();
        // What remains at the end is no interval of exp-bbv's.
        let may_differ = 1.0 + MOST_OTHER_INSTRUCTIONS * ours as f64;
        let rules = [
            (ours.abs_diff(theirs) as f64 <= may_differ, "other numbers of intervals"),
            (other <= MOST_OTHER_INSTRUCTIONS, "other numbers of instructions"),
            (self.distances.correlation >= LEAST_CORRELATION, "other distances between intervals"),
            (self.distances.apart <= MOST_APART, "distances between intervals that are too far apart"),
            (self.misplaced_in_functions <= MOST_MISPLACED, "points that do not stand for the whole"),
            (
                self.misplaced_in_functions < self.misplaced_evenly,
                "points no better than intervals at even distances",
            ),
        ];
        rules.iter().filter(|(holds, _)| !holds).map(|(_, fault)| fault.to_string()).collect()
    }
}

fn compare(
    profiler: &Profiler,
    workload: &Workload,
    options: &Options,
    work: &Path,
    scratch: &Path,
) -> Result<Compared> {
    let [theirs, profile, prefix] = ["valgrind.bb", "profile.tw", "ours"].map(|name| scratch.join(name));
    let interval = options.interval.to_string();
    let run = |words: &[&str]| -> Result<()> {
        let words: Vec<String> = [TUNABLES].iter().chain(words).map(|word| word.to_string()).collect();
        let done = execute(workload, options.size, work, &words, options.limit)?;
        ensure!(done.status.success(), "{} under {}:\n{}", done.status, words.join(" "), done.last_words());
        Ok(())
    };
    let [of_theirs, no_list, size] = [
        format!("--bb-out-file={}", theirs.display()),
        format!("--pc-out-file={}", scratch.join("valgrind.pc").display()),
        format!("--interval-size={interval}"),
    ];
    run(&["valgrind", "-q", "--tool=exp-bbv", &size, &of_theirs, &no_list])?;
    let [command, file] = [&profiler.program, &profile].map(|path| path.to_string_lossy());
    run(&[&command, "count", "-q", "--no-calls", "--intervals", &interval, "-o", &file, "--"])?;
    let chosen = Command::new(&profiler.program)
        .args(["simpoint", "--format", "json", "-o"])
        .args([&prefix, &profile])
        .output()
        .context("timewise")?;
    ensure!(chosen.status.success(), "{}", String::from_utf8_lossy(&chosen.stderr));
    let chosen: Value = serde_json::from_slice(&chosen.stdout)?;
    let [ours, theirs] = [&prefix.with_extension("bb"), &theirs].map(|path| Vectors::read(path));
    let (ours, theirs) = (ours?, theirs?);
    let number = |name: &str| chosen[name].as_f64().with_context(|| format!("no {name}"));
    let points = chosen["points"].as_array().context("no points")?;
    let point = |point: &Value| Some((point["interval"].as_u64()? as usize, point["weight"].as_f64()?));
    let points: Vec<(usize, f64)> = points.iter().filter_map(point).collect();
    let every = ours.len() as f64 / points.len() as f64;
    let even = (0..points.len()).map(|at| (((at as f64 + 0.5) * every) as usize, 1.0 / points.len() as f64));
    let functions = Functions::of(&Profile::load(&profile)?);
    Ok(Compared {
        intervals: [ours.len(), theirs.len()],
        instructions: [ours.instructions(), theirs.instructions()],
        distances: ours.agreement(&theirs),
        points: points.len(),
        executed: number("simulated_instructions")? / number("instructions")?,
        misplaced_in_blocks: number("error_share")?,
        misplaced_in_functions: functions.misplaced(&points),
        misplaced_evenly: functions.misplaced(&even.collect::<Vec<_>>()),
    })
}
