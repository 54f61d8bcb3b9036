//! `cargo xtask check streams`: torture programs and workloads end under streaming as natively, and what is
//! replayed of each instruction is what the same run counted, exactly.

use super::torture::{Case, Outcome};
use super::transparency::{both, execute, select};
use crate::counter::build_example;
use crate::folder::Folder;
use crate::suite;
use anyhow::{Result, ensure};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Torture programs (all their cases) and workloads; all if none is named
    names: Vec<String>,
    /// Only the torture programs
    #[arg(long)]
    torture: bool,
    /// Seconds after which a program counts as hung
    #[arg(long, default_value_t = 300)]
    limit: u32,
    /// Without the addresses of memory accesses
    #[arg(long)]
    no_memory: bool,
}

/// The command that streams, what it is told, and where it reports.
struct Streamer {
    prefix: Vec<String>,
    report: PathBuf,
}

/// What a run reported.
struct Report(String);

impl Report {
    fn number(&self, name: &str) -> Option<u64> {
        let line = self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|number| number.parse().ok())
    }

    /// What is wrong by it; `lossy` if somebody ends threads of the program in their own code.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let is_uncertain = self.number("uncertain").unwrap_or(0) > 0;
        for (name, wanted) in [("differences", 0), ("senseless", 0), ("whole", 1), ("imbalance", 0)] {
            let found = self.number(name);
            let excused = is_uncertain && matches!(name, "differences" | "imbalance");
            if found != Some(wanted) && !excused {
                faults.push(format!("{name}: {found:?}"));
            }
        }
        if !is_uncertain {
            faults
                .extend(self.0.lines().filter(|l| l.starts_with("difference ")).take(5).map(str::to_string));
        }
        faults
    }
}

/// Prints a row for each program; what is wrong stands below it.
///
/// # Errors
/// If anything differs.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let scratch = Folder::of(root, "streams")?;
    let program = build_example(root, "streams")?;
    let report = scratch.join("report");
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut prefix = vec![text(&program)];
    prefix.extend(options.no_memory.then(|| "--no-memory".to_string()));
    prefix.push(text(&report));
    let streamer = Streamer { prefix, report };
    let (cases, workloads) = select(root, &options.names, options.torture)?;
    let work = if workloads.is_empty() { PathBuf::new() } else { suite::work_folder(root)? };
    println!(
        "{:24} {:10} {:10} {:>13} {:>7} {:>6} {:>11}",
        "program", "native", "streamed", "instructions", "bytes", "M/s", "differences"
    );
    let mut bad = Vec::new();
    for case in &cases {
        let is_good = check_case(case, &streamer, &scratch, options.limit)?;
        if !is_good && case.open.is_none() {
            bad.push(case.name.as_str());
        }
    }
    for workload in &workloads {
        let outcome = |prefix: &[String]| execute(workload, &work, prefix, options.limit);
        if !check(&workload.name, &streamer, outcome, &[])? {
            bad.push(&workload.name);
        }
    }
    let checked = cases.len() + workloads.len();
    ensure!(bad.is_empty(), "{} of {checked} programs went wrong: {}", bad.len(), bad.join(" "));
    println!("{checked} programs, all as natively and as counted");
    Ok(())
}

fn check_case(case: &Case, streamer: &Streamer, scratch: &Path, limit: u32) -> Result<bool> {
    let program = case.build(scratch)?;
    let limit = Duration::from_secs(limit.into());
    check(&case.name, streamer, |prefix| case.run(&program, prefix, scratch, limit), &["env".to_string()])
}

/// Runs a program natively, behind `plain`, and under streaming.
fn check(
    name: &str,
    streamer: &Streamer,
    run: impl Fn(&[String]) -> Result<Outcome>,
    plain: &[String],
) -> Result<bool> {
    let native = run(plain)?;
    // A report of an earlier run is none of this one's.
    std::fs::write(&streamer.report, "")?;
    let streamed = run(&streamer.prefix)?;
    let report = Report(std::fs::read_to_string(&streamer.report)?);
    let mut faults = report.faults();
    if native != streamed {
        faults.push(both(&native, &streamed));
    }
    let number = |name| report.number(name).unwrap_or(0) as f64;
    println!(
        "{name:24} {:10} {:10} {:13} {:7.2} {:6.1} {:11}",
        native.ended,
        streamed.ended,
        number("instructions"),
        number("bytes") / number("instructions").max(1.0),
        number("instructions") / number("microseconds").max(1.0),
        number("differences")
    );
    for fault in &faults {
        println!("    {fault}");
    }
    Ok(faults.is_empty())
}
