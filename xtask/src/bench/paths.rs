//! A table of what counting paths in the program costs, and how much of the truth it finds out (TPP, tables 2 and 3).
//!
//! Each round runs a workload natively, under counting of edges, and with each configuration's plans, one after the
//! other, so that what the machine does besides concerns all of them alike.

use super::statistics::geomean;
use super::table::Destination;
use crate::check::paths::METHODS;
use crate::counter::build_example;
use crate::folder::Folder;
use crate::suite::{self, Expected, Size, execute};
use anyhow::{Result, ensure};
use clap::Args;
use std::path::Path;

/// What to measure, and how.
#[derive(Args)]
pub struct Options {
    /// Workloads; all of one thread that are neither servers nor process trees if none is named
    names: Vec<String>,
    /// Size of the input
    #[arg(long, value_enum, default_value_t = Size::Train)]
    size: Size,
    /// Rounds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds after which a workload is killed, with all of its runs
    #[arg(long, default_value_t = 3600)]
    limit: u32,
    #[command(flatten)]
    into: Destination,
}

/// The table's name in a Markdown file.
const TABLE: &str = "paths";

/// What one workload takes.
struct Measured {
    name: String,
    native_s: f64,
    /// Counting edges, against native.
    edges: f64,
    /// Of each configuration: against counting edges.
    times: Vec<f64>,
    /// Of each but the first: the share of the flow that is attributed to the paths that it took.
    definite: Vec<f64>,
}

/// Prints a row for each workload, then means.
///
/// # Errors
/// If a workload goes wrong, or cannot be run at all.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    // Before hours of work that it would be for.
    options.into.check(TABLE)?;
    let scratch = Folder::of(root, "paths")?;
    let program = build_example(root, "cost")?;
    let file = scratch.join("cost");
    let rounds = options.rounds.to_string();
    let [program, report] = [&program, &file].map(|path| path.to_string_lossy().into_owned());
    let prefix = [program, report, rounds];
    let work = suite::work_folder(root)?;
    let mut expected = Expected::open(&work)?;
    let workloads = suite::select_single_threaded(root, &options.names)?;
    let caption = format!(
        "CPU time of counting edges against native, and of counting paths against counting edges, at size {}, {}; and the \
         share of all flow that TPP attributes to the paths that it took",
        options.size.word(),
        if options.rounds == 1 {
            "in one round".into()
        } else {
            format!("the least of {} rounds", options.rounds)
        }
    );
    println!("{caption}");
    let definite = METHODS[1..].iter().map(|method| format!("flow {method}"));
    let titles = ["workload", "native s", "edges"].map(String::from).into_iter();
    let mut rows = vec![titles.chain(METHODS.map(String::from)).chain(definite).collect::<Vec<String>>()];
    print(&rows[0]);
    let (mut all, mut wrong) = (Vec::new(), Vec::new());
    for workload in &workloads {
        std::fs::write(&file, "")?;
        let executed = execute(workload, options.size, &work, &prefix, options.limit)?;
        let verdict = expected.judge(workload, options.size, &executed, false)?;
        let report = std::fs::read_to_string(&file)?;
        match measured(&workload.name, &report).filter(|_| verdict.is_good()) {
            Some(measured) => {
                rows.push(row(&measured));
                print(&rows[rows.len() - 1]);
                all.push(measured);
            }
            None => {
                println!("{:16} {verdict}\n{}", workload.name, executed.last_words());
                wrong.push(workload.name.as_str());
            }
        }
    }
    if !all.is_empty() {
        let mean = mean(&all);
        rows.push(row(&mean));
        print(&rows[rows.len() - 1]);
        println!("{}", in_short(&mean));
    }
    options.into.put(TABLE, &caption, &rows)?;
    ensure!(wrong.is_empty(), "went wrong: {}", wrong.join(" "));
    Ok(())
}

/// What the example reported, if it is whole.
fn measured(name: &str, report: &str) -> Option<Measured> {
    let numbers = |what: &str| -> Vec<f64> {
        let of = |line: &str| line.strip_prefix(what)?.strip_prefix(' ')?.parse().ok();
        report.lines().filter_map(of).collect()
    };
    // What else the machine does can only add to it.
    let seconds = |what: &str| numbers(what).into_iter().reduce(f64::min);
    let (native_s, edges) = (seconds("native")?, seconds("edges")?);
    let times: Option<Vec<f64>> =
        METHODS.iter().map(|method| Some(seconds(method)? / edges.max(f64::EPSILON))).collect();
    let definite: Option<Vec<f64>> =
        METHODS[1..].iter().map(|method| numbers(&format!("definite {method}")).first().copied()).collect();
    let edges = edges / native_s.max(f64::EPSILON);
    Some(Measured { name: name.to_string(), native_s, edges, times: times?, definite: definite? })
}

/// Geometric means of times, and arithmetic ones of shares.
fn mean(all: &[Measured]) -> Measured {
    let each = |of: fn(&Measured) -> &Vec<f64>, mean: fn(&[f64]) -> f64| -> Vec<f64> {
        let columns = 0..of(&all[0]).len();
        columns.map(|at| mean(&all.iter().map(|one| of(one)[at]).collect::<Vec<f64>>())).collect()
    };
    let average = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    Measured {
        name: "mean".to_string(),
        native_s: f64::NAN,
        edges: geomean(&all.iter().map(|one| one.edges).collect::<Vec<f64>>()),
        times: each(|one| &one.times, geomean),
        definite: each(|one| &one.definite, average),
    }
}

/// What the usual configuration, which is the last, costs and tells.
fn in_short(mean: &Measured) -> String {
    let last = METHODS.len() - 1;
    format!(
        "{} adds {:.0} % of what {} adds to counting edges, takes {:.2}x of that, and attributes {:.2} %",
        METHODS[last],
        100.0 * (mean.times[last] - 1.0) / (mean.times[0] - 1.0),
        METHODS[0],
        mean.times[last],
        100.0 * mean.definite[last - 1]
    )
}

fn row(measured: &Measured) -> Vec<String> {
    let native = if measured.native_s.is_nan() { "–".into() } else { format!("{:.2}", measured.native_s) };
    let ratio = |value: &f64| format!("{value:.2}x");
    let share = |value: &f64| format!("{:.2} %", 100.0 * value);
    [measured.name.clone(), native, ratio(&measured.edges)]
        .into_iter()
        .chain(measured.times.iter().map(ratio))
        .chain(measured.definite.iter().map(share))
        .collect()
}

fn print(row: &[String]) {
    let (name, rest) = row.split_first().expect("a row has a name");
    println!("{name:16}{}", rest.iter().map(|cell| format!(" {cell:>15}")).collect::<String>());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_each_is_taken_from_a_report() {
        let mut report =
            String::from("native 2.0\nedges 4.0\nnative 2.5\nedges 5.0\nedges 4.5\nnative 3.0\n");
        for (at, method) in METHODS.iter().enumerate() {
            report += &format!("{method} {}\ndefinite {method} 0.9{at}\n", 8 - at);
        }
        let one = measured("one", &report).unwrap();
        assert_eq!((one.native_s, one.edges, one.times[1]), (2.0, 2.0, 1.75));
        assert_eq!(one.definite, [0.91, 0.92, 0.93, 0.94]);
        assert!(measured("one", "native 2.0\n").is_none());
        let both = mean(&[measured("one", &report).unwrap(), one]);
        assert!((both.edges - 2.0).abs() < 1e-12 && (both.definite[0] - 0.91).abs() < 1e-12);
        assert_eq!(
            in_short(&both),
            "TPP(5,15) adds 0 % of what PP adds to counting edges, takes 1.00x of that, and attributes 94.00 %"
        );
    }
}
