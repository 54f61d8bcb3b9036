//! Branch tracing against exact counts of the same program: a branch that was traced but never taken is a fault,
//! and the shares of branches must agree, as far as so few of them can.

mod breakpoints;
mod edges;
mod overlap;
pub mod subject;
mod traces;

use self::breakpoints::{Breakpoints, Sums};
use self::edges::Edges;
use self::overlap::Agreement;
use self::subject::Subject;
use self::traces::Traces;
use super::attempts::ATTEMPTS;
use super::{fix_addresses, stops, torture};
use crate::bench::table::Destination;
use crate::folder::Folder;
use crate::profiler::Profiler;
use crate::suite::{self, Size};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::Path;
use timewise_profile::Profile;

/// Workloads that are checked if none is named.
const CHECKED: [&str; 3] = ["bzip2-g", "lua-g", "gnugo-g"];

/// Branches that only one of two runs takes are no fault while they are this rare: time and addresses differ.
const RARE: f64 = 1e-4;

/// Algorithm 1 alone must need so many times the breakpoints that are needed with evaluation.
const MOST_OF_ITS_OWN: f64 = 3.0;

/// Torture programs that notice, for reasons that docs/branches.md gives: they count their descriptors, unmap
/// the tracer, limit their addresses, or have no stack for a signal at times.
const NOTICE: [&str; 4] = ["descriptors", "far_ranges", "memory_limit", "red_zone"];

/// The table's name in a Markdown file, and that of one by rates, and their columns.
const TABLE: &str = "agreement";
const BY_RATE: &str = "agreement by rate";
const COLUMNS: [&str; 10] = [
    "workload",
    "traced",
    "edges",
    "whole",
    "by weight",
    "floor",
    "within",
    "by weight",
    "never taken",
    "breakpoints a branch; algorithm 1's",
];

/// A column more, where there are several runs.
const HALVES: &str = "half with half";

/// What to check, and how.
#[derive(Args)]
pub struct Options {
    /// Workloads of the suite
    names: Vec<String>,
    /// Only whether the torture programs do as natively; names are theirs then
    #[arg(long, conflicts_with = "small")]
    torture: bool,
    /// Some kernels of the suite instead of workloads, compiled here: half a minute
    #[arg(long)]
    small: bool,
    /// All workloads of the suite that have one thread and are neither servers nor process trees
    #[arg(long, conflicts_with_all = ["names", "torture", "small"])]
    all: bool,
    #[command(flatten)]
    into: Destination,
    /// Print so many branches, whose shares differ most, of each workload
    #[arg(long, value_name = "BRANCHES", default_value_t = 0)]
    differences: usize,
    /// Traces per second; with several, by commas, a row for each: agreement should not depend on them
    #[arg(short = 'F', long, value_delimiter = ',', default_value = "5000")]
    frequency: Vec<u32>,
    /// Run again until so many branches were recorded; with several rates, as many at each, in two runs at least
    #[arg(long, value_name = "BRANCHES", default_value_t = 0)]
    recorded: u64,
    /// Branches of a trace
    #[arg(long, default_value_t = 500)]
    length: u32,
    /// Of so many traces one is confirmed by a breakpoint
    #[arg(long, default_value_t = 2)]
    confirm: u32,
    /// Have traces start at the kernel's timer ticks, at no higher rate than these come
    #[arg(long)]
    at_ticks: bool,
    /// Lowest share of branches within functions that must agree, by weight
    #[arg(long, default_value_t = 0.88)]
    within: f64,
    /// Which input
    #[arg(long, value_enum, default_value_t = Size::Test)]
    size: Size,
    /// Seconds after which a program counts as hung
    #[arg(long, default_value_t = 300)]
    limit: u32,
}

/// Prints a row for each workload.
///
/// # Errors
/// If a traced branch was never taken, or shares do not agree.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let timewise = Profiler::build(root)?.program;
    let scratch = Folder::of(root, "branches")?;
    if options.torture {
        return torture(root, &timewise, &scratch, options);
    }
    let table = if options.frequency.len() > 1 { BY_RATE } else { TABLE };
    options.into.check(table)?;
    let all: Vec<String> =
        suite::select_single_threaded(root, &[])?.into_iter().map(|workload| workload.name).collect();
    let subjects = match (options.small, options.names.is_empty()) {
        (true, _) => subject::small(root, &scratch)?,
        _ if options.all => subject::workloads(root, &all, options.size, options.limit)?,
        (_, true) => subject::workloads(root, &CHECKED.map(String::from), options.size, options.limit)?,
        _ => subject::workloads(root, &options.names, options.size, options.limit)?,
    };
    // Some branches depend on where things lie.
    fix_addresses()?;
    let runs = if options.frequency.len() > 1 && options.recorded > 0 { 2 } else { 1 };
    let halves = (runs > 1).then_some(HALVES);
    let more = halves.unwrap_or_default();
    println!("{:12} {} {}  {more}", "workload", Agreement::TITLES, Breakpoints::TITLES);
    let (mut bad, mut sums) = (Vec::new(), Sums::default());
    let titles = COLUMNS.into_iter().chain(halves);
    let mut rows: Vec<Vec<String>> = vec![titles.map(String::from).collect()];
    let confirm = options.confirm.to_string();
    let length = options.length.to_string();
    for subject in subjects {
        let execute = |words: &[&str], name: &str| {
            let file = scratch.join(name);
            let recorded = profile(&subject, words, &file, &timewise)?;
            std::fs::remove_file(&file)?;
            anyhow::Ok(recorded)
        };
        let exact = Edges::counted(&execute(&["count", "--no-calls"], "counted.tw")?.0);
        for frequency in &options.frequency {
            let rate = frequency.to_string();
            let mut words = vec!["branches", "-F", &rate, "--length", &length, "--confirm", &confirm];
            words.extend(options.at_ticks.then_some("--at-ticks"));
            let name = match &options.frequency[..] {
                [_] => subject.name().to_string(),
                _ => format!("{} {rate}", subject.name()),
            };
            let mut left = if options.small { ATTEMPTS } else { 1 };
            let (agreement, breakpoints, halves) = loop {
                let mut traces = Traces::default();
                while traces.want(runs, options.recorded) {
                    let (traced, said) = execute(&words, "traced.tw")?;
                    traces.add(&traced, &said);
                }
                let (agreement, breakpoints) = (traces.agreement(&exact), traces.breakpoints());
                let halves = halves.and(traces.of_halves()).map(|share| format!("{:5.1} %", 100.0 * share));
                println!("{name:12} {agreement} {breakpoints}  {}", halves.as_deref().unwrap_or_default());
                left -= 1;
                // Which branches are traced is a matter of luck, whether they were taken is not.
                if left == 0 || agrees(&agreement, options) || agreement.share_never_taken() > RARE {
                    break (agreement, breakpoints, halves);
                }
            };
            for (edge, times) in agreement.never_taken.iter().take(5) {
                println!("             never taken: {edge}, traced {times} times");
            }
            for difference in agreement.differences.iter().take(options.differences) {
                println!("             {difference}");
            }
            let needs_few = breakpoints.reached * MOST_OF_ITS_OWN < breakpoints.without_evaluation;
            if agreement.share_never_taken() > RARE || !agrees(&agreement, options) || !needs_few {
                bad.push(name.clone());
            }
            sums.add(&agreement, &breakpoints);
            let cells = [vec![name], agreement.cells(), vec![breakpoints.to_string()]].concat();
            rows.push(cells.into_iter().chain(halves).collect());
        }
    }
    println!("{sums}");
    let size = options.size.word();
    let rates: Vec<String> = options.frequency.iter().map(u32::to_string).collect();
    let recorded = match options.recorded {
        0 => String::new(),
        branches => format!(" --recorded {branches}"),
    };
    let caption = format!(
        "`--size {size} -F {} --length {length} --confirm {confirm}{}{recorded}`\n\n{}",
        rates.join(","),
        if options.at_ticks { " --at-ticks" } else { "" },
        sums.to_string().replace('\n', "; ")
    );
    options.into.put(table, &caption, &rows)?;
    ensure!(bad.is_empty(), "branch tracing went wrong: {}", bad.join(" "));
    Ok(())
}

/// Whether shares within functions, by weight, as they are exported, are those that were counted.
fn agrees(agreement: &Agreement, options: &Options) -> bool {
    agreement.within_functions[1] >= options.within
}

/// Whether the torture programs do as natively while they are traced.
fn torture(root: &Path, timewise: &Path, scratch: &Path, options: &Options) -> Result<()> {
    let frequency =
        options.frequency.first().context("-F names no rate: give one, as in -F 1000")?.to_string();
    let command = ["branches", "-F", &frequency];
    let mut bad = Vec::new();
    for case in torture::load(root)?.iter().filter(|case| stops::is_meant(case, &options.names)) {
        let known = NOTICE.iter().any(|name| case.name.split(':').next() == Some(name));
        if known {
            continue;
        }
        if let Some(fault) = stops::changed(case, &command, timewise, scratch, options.limit)? {
            println!("{:24} {fault}", case.name);
            bad.push(case.name.clone());
        }
    }
    println!("torture programs changed by tracing: {}; left out: {}", bad.len(), NOTICE.join(" "));
    ensure!(bad.is_empty(), "branch tracing changed: {}", bad.join(" "));
    Ok(())
}

/// What a command of `timewise` records of a program, whose output must be its own, and what it says.
fn profile(subject: &Subject, command: &[&str], file: &Path, timewise: &Path) -> Result<(Profile, String)> {
    let [tool, place] = [timewise, file].map(|path| path.to_string_lossy());
    let words = [&[&*tool], command, &["-o", &*place, "--"]].concat();
    let words: Vec<String> = words.into_iter().map(String::from).collect();
    let said = subject.execute(&words)?;
    Ok((Profile::load(file)?, said))
}
