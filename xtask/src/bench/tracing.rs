//! What branch tracing costs by its rate, what of that breakpoints cost, and what a breakpoint costs among threads.
//!
//! All of it is CPU time of the program, as the kernel accounts it: a traced run against the mean of the native ones
//! before and after it. Tables 1 and Figures 3, 4 and 6 of Break Dancing (Marin, Alexandrov and Moseley, 2021) are made of
//! the same.

use super::once::Bench;
use super::statistics::{geomean, median, median_interval};
use super::table::Destination;
use crate::counter::target_folder;
use crate::profiler::Profiler;
use crate::suite::{self, Expected, Size};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to measure, and how.
#[derive(Args)]
pub struct Options {
    /// Workloads of one thread
    #[arg(default_values_t = ["perl", "gnugo-g", "lua-g", "bzip2-g", "lbm"].map(String::from))]
    names: Vec<String>,
    /// Size of the input
    #[arg(long, value_enum, default_value_t = Size::Train)]
    size: Size,
    /// Traces per second of CPU time, by commas
    #[arg(short = 'F', long, value_delimiter = ',', default_value = "100,200,500,1000,2000")]
    frequency: Vec<u32>,
    /// Branches of a trace
    #[arg(long, default_value_t = 16)]
    length: u32,
    /// Have traces start at the kernel's timer ticks, at no higher rate than these come
    #[arg(long)]
    at_ticks: bool,
    /// Pairs of a native and a traced run for each rate; fewer than six give no interval
    #[arg(long, default_value_t = 6)]
    rounds: u32,
    /// Threads among which a breakpoint is measured, by commas
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,16,64,100,200,400")]
    threads: Vec<u32>,
    /// Breakpoints that each of them sets
    #[arg(long, default_value_t = 1000)]
    breakpoints: u32,
    /// Seconds after which a workload is killed
    #[arg(long, default_value_t = 600)]
    limit: u32,
    #[command(flatten)]
    into: Destination,
}

/// The tables' names in a Markdown file.
const OVERHEAD: &str = "tracing overhead";
const BREAKPOINTS: &str = "cost of a breakpoint";

/// What the runs of a workload at one rate came to, one value a run.
#[derive(Clone, Default)]
struct Rate {
    /// CPU time against native.
    ratios: Vec<f64>,
    /// Traces in a second of CPU time.
    traces: Vec<f64>,
    /// CPU time of breakpoints, against native.
    breakpoints: Vec<f64>,
}

impl Rate {
    /// CPU time that a trace takes, in microseconds, with all that it brings about.
    fn cost_us(&self) -> Vec<f64> {
        let cost = |(ratio, traces): (&f64, &f64)| 1e6 * (ratio - 1.0) / (traces * ratio);
        self.ratios.iter().zip(&self.traces).map(cost).collect()
    }
}

/// The rate that overhead is told for, by what a trace costs at the highest: the lower a rate, the less of its overhead
/// stands out from all else.
const USUAL_RATE: f64 = 100.0;

/// Prints both tables.
///
/// # Errors
/// If a workload goes wrong under tracing, or the system refuses breakpoints.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    [OVERHEAD, BREAKPOINTS].iter().try_for_each(|name| options.into.check(name))?;
    let timewise = Profiler::build(root)?.program;
    let costs = cost_among_threads(root, options)?;
    // One is set for each that is reached, before it.
    let (_, [setting, reaching]) =
        *costs.first().context("--threads names none: give one, as in --threads 1")?;
    let breakpoint_s = (setting + reaching) / 1e6;
    let work = suite::work_folder(root)?;
    let mut expected = Expected::open(&work)?;
    let rates = options.frequency.iter();
    let mut rows = vec![titles(rates.clone())];
    print(&rows[0]);
    let mut all = Vec::new();
    for workload in suite::select_single_threaded(root, &options.names)? {
        let (size, limit_s) = (options.size, options.limit);
        let bench = Bench { workload: &workload, size, timewise: &timewise, work: &work, limit_s };
        let mut measured = vec![Rate::default(); options.frequency.len()];
        let mut said = String::new();
        for _ in 0..options.rounds {
            let mut native = bench.once(&[], &mut expected)?.1;
            for (rate, found) in rates.clone().zip(&mut measured) {
                let [rate, length] = [*rate, options.length].map(|number| number.to_string());
                let mut command = vec!["branches", "-F", &rate, "--length", &length];
                command.extend(options.at_ticks.then_some("--at-ticks"));
                let (executed, traced_s) = bench.once(&command, &mut expected)?;
                let before = std::mem::replace(&mut native, bench.once(&[], &mut expected)?.1);
                let beside = (before + native) / 2.0;
                let [traces, reached] = counts(&executed.errors).context("timewise says no counts")?;
                found.ratios.push(traced_s / beside);
                found.traces.push(traces / traced_s);
                found.breakpoints.push(reached * breakpoint_s / beside);
                said = executed.errors;
            }
        }
        rows.push(row(&workload.name, &measured, &per_branch(&said)));
        print(&rows[rows.len() - 1]);
        all.push(measured);
    }
    let mean = |of: fn(&Rate) -> &Vec<f64>, rate: usize| -> Vec<f64> {
        let over = |round: usize| geomean(&all.iter().map(|one| of(&one[rate])[round]).collect::<Vec<_>>());
        (0..options.rounds as usize).map(over).collect()
    };
    let means = (0..options.frequency.len()).map(|rate| Rate {
        ratios: mean(|rate| &rate.ratios, rate),
        traces: mean(|rate| &rate.traces, rate),
        breakpoints: mean(|rate| &rate.breakpoints, rate),
    });
    rows.push(row("geomean", &means.collect::<Vec<_>>(), "-"));
    print(&rows[rows.len() - 1]);
    let (size, length, rounds) = (options.size.word(), options.length, options.rounds);
    let ticks = if options.at_ticks { " --at-ticks" } else { "" };
    let caption = format!(
        "`--size {size} --length {length} --rounds {rounds}{ticks}`: medians, with their intervals of 95 %"
    );
    options.into.put(OVERHEAD, &caption, &rows)?;
    let titles = ["threads", "setting, µs", "reaching, µs"].map(String::from);
    let row = |(threads, costs): &(u32, [f64; 2])| {
        let [setting, reaching] = costs.map(|cost| format!("{cost:.2}"));
        [threads.to_string(), setting, reaching]
    };
    let rows: Vec<_> = std::iter::once(titles).chain(costs.iter().map(row)).collect();
    let caption = format!("CPU time, {} breakpoints of each thread", options.breakpoints);
    options.into.put(BREAKPOINTS, &caption, &rows)
}

fn titles<'a>(rates: impl Iterator<Item = &'a u32>) -> Vec<String> {
    let each = rates.map(|rate| format!("{rate} a second"));
    let last = [
        "traces a second",
        "of it breakpoints",
        "the rest",
        "µs a trace",
        "so 100 a second",
        "breakpoints a branch; algorithm 1's",
    ];
    std::iter::once("workload".to_string()).chain(each).chain(last.map(String::from)).collect()
}

/// Ratios at all rates; how many traces the first gave; where the overhead at the last one goes; what a trace costs there,
/// and what so many a second would cost.
fn row(name: &str, rates: &[Rate], per_branch: &str) -> Vec<String> {
    let ratio = |rate: &Rate| {
        let interval = median_interval(&rate.ratios);
        let interval = interval.map_or(String::new(), |(low, high)| format!(" ({low:.3}-{high:.3})"));
        format!("{:.3}{interval}", median(&rate.ratios))
    };
    let costs = rates.last().map_or(Vec::new(), Rate::cost_us);
    let cost = median(&costs);
    let interval = median_interval(&costs);
    let interval = interval.map_or(String::new(), |(low, high)| format!(" ({low:.0}-{high:.0})"));
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let (first, last) = (rates.first(), rates.last());
    let traces = first.map_or(f64::NAN, |rate| median(&rate.traces));
    let breakpoints = last.map_or(f64::NAN, |rate| median(&rate.breakpoints));
    let rest = last.map_or(f64::NAN, |rate| median(&rate.ratios)) - 1.0 - breakpoints;
    let end = [
        format!("{traces:.0}"),
        percent(breakpoints),
        percent(rest),
        format!("{cost:.0}{interval}"),
        percent(cost * USUAL_RATE / 1e6),
        per_branch.to_string(),
    ];
    std::iter::once(name.to_string()).chain(rates.iter().map(ratio)).chain(end).collect()
}

fn print(row: &[String]) {
    println!("{}", row.join("  "));
}

/// Traces and breakpoints that were reached, as `timewise branches` says.
pub fn counts(said: &str) -> Option<[f64; 2]> {
    let before = |words: &str| {
        let number = said.split_once(words)?.0.rsplit(' ').next()?;
        number.replace(',', "").parse().ok()
    };
    Some([before(" trace")?, before(" breakpoint")?])
}

/// Breakpoints for each branch, and those of algorithm 1, as it says.
fn per_branch(said: &str) -> String {
    let found = said.split_once(" breakpoints reached (").and_then(|(_, rest)| rest.split_once(')'));
    let found = found.map_or("", |(found, _)| found);
    found.replace(" a branch; without evaluation", ";")
}

/// The program of `suite/costs`, in a folder for what it makes.
pub fn compiled(root: &Path, name: &str) -> Result<PathBuf> {
    let folder = target_folder(root).join("tracing");
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let program = folder.join(name);
    let mut compiler = Command::new("gcc");
    compiler.args(["-O2", "-pthread", "-o"]).arg(&program).arg(root.join(format!("suite/costs/{name}.c")));
    ensure!(compiler.status().context("gcc")?.success(), "suite/costs/{name}.c does not compile");
    Ok(program)
}

/// CPU time of setting a breakpoint and of reaching it, in microseconds, by the number of threads that do so.
fn cost_among_threads(root: &Path, options: &Options) -> Result<Vec<(u32, [f64; 2])>> {
    let program = compiled(root, "breakpoints")?;
    let mut costs = Vec::new();
    for &threads in &options.threads {
        let words = [threads, options.breakpoints].map(|number| number.to_string());
        let output = Command::new(&program).args(words).output().context("breakpoints")?;
        let [said, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        ensure!(output.status.success(), "{threads} threads: {} {errors}", output.status);
        let mut numbers = said.split_whitespace().map(str::parse::<f64>);
        let mut next = || numbers.next().context("too few numbers")?.context("no number");
        let both = [next()?, next()?];
        println!("{threads:4} threads: setting {:6.2} µs, reaching {:6.2} µs", both[0], both[1]);
        costs.push((threads, both));
    }
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let said = "traced in 1.2 s: 1,600 branches in 1,000 traces, 25 breakpoints reached (0.0250 a branch; without \
                    evaluation 1.25)\n";
        assert_eq!(counts(said), Some([1000.0, 25.0]));
        assert_eq!(per_branch(said), "0.0250; 1.25");
        assert_eq!(counts("nothing"), None);
    }

    #[test]
    fn what_a_trace_costs_is_what_it_adds_to_native_time() {
        // Of 1.25 s, of which 1 s is native, 5000 traces take the rest: 50 µs each.
        let rate = Rate { ratios: vec![1.25], traces: vec![4000.0], breakpoints: vec![0.0] };
        assert!((rate.cost_us()[0] - 50.0).abs() < 1e-9);
        let row = row("one", &[rate], "-");
        assert_eq!(row[5..7], ["50", "0.50 %"]);
    }
}
