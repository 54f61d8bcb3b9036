//! Each torture program and workload natively and under count: output and end must be the same, and the counts
//! consistent (`timewise verify`). The table also says by how much flow into and out of blocks differs; where threads or processes are killed, a few.

use super::executions;
use super::torture::{self, Case, Outcome};
use crate::counter::Counter;
use crate::folder::Folder;
use crate::profiler::Profiler;
use crate::suite::{self, Size, Workload};
use anyhow::{Result, bail, ensure};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to check, and how.
#[derive(Args)]
pub struct Options {
    /// Torture programs (all their cases) and workloads; all if none is named
    names: Vec<String>,
    /// Only the torture programs
    #[arg(long)]
    torture: bool,
    /// Seconds after which a program counts as hung
    #[arg(long, default_value_t = 60)]
    limit: u32,
    /// How often each runs under count: some faults show once in a hundred runs
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// What is counted; all kinds in turn if it is `all`
    #[arg(long, value_enum, default_value_t = Kind::Calls)]
    kind: Kind,
    /// Where programs lie: where the system puts them, or always in the same place; in turn if it is `both`
    #[arg(long, value_enum, default_value_t = Addresses::Random)]
    addresses: Addresses,
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Calls,
    Edges,
    Paths,
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Addresses {
    Random,
    Fixed,
    Both,
}

impl Kind {
    /// Each that is meant, with what is counted and the options of the command that does it.
    fn each(self) -> Vec<(Kind, &'static str, &'static [&'static str])> {
        const KINDS: [(Kind, &str, &[&str]); 4] = [
            (Kind::Calls, "edges and calls", &[]),
            (Kind::Edges, "edges", &["--no-calls"]),
            (Kind::Paths, "all paths", &["--all"]),
            (Kind::Paths, "paths that edges do not tell", &[]),
        ];
        KINDS.into_iter().filter(|&(kind, ..)| self == Kind::All || self == kind).collect()
    }
}

impl Addresses {
    /// Each that is meant, with whether addresses are fixed.
    fn each(self) -> Vec<(&'static str, bool)> {
        let random = (self != Addresses::Fixed).then_some(("random", false));
        random.into_iter().chain((self != Addresses::Random).then_some(("fixed", true))).collect()
    }
}

/// What counts, and what judges counts.
struct Tools<'a> {
    counter: Counter,
    profiler: &'a Profiler,
    /// Options of the command that counts.
    options: &'static [&'static str],
}

impl Tools<'_> {
    /// The first few contradictions in the profile of a run whose counts went to `file`.
    fn contradictions(&self, file: &Path) -> Result<Vec<String>> {
        let profile = file.with_extension("tw");
        if !profile.exists() {
            return Ok(Vec::new());
        }
        let found = self.profiler.contradictions(&profile)?.into_iter().take(3);
        Ok(found.map(|what| format!("a contradiction: {what}")).collect())
    }
}

/// Prints a table; what differs is shown below its row.
///
/// # Errors
/// If anything differs, or a program does not even run natively.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let profiler = Profiler::build(root)?;
    let scratch = Folder::of(root, "torture")?;
    let (cases, workloads) = select(root, &options.names, options.torture)?;
    let work = if workloads.is_empty() { PathBuf::new() } else { suite::work_folder(root)? };
    let (mut changed, mut contradictory) = (Vec::new(), Vec::new());
    let ways: Vec<_> = options
        .kind
        .each()
        .into_iter()
        .flat_map(|k| options.addresses.each().into_iter().map(move |a| (k, a)))
        .collect();
    for &((kind, name, what), (addresses, are_fixed)) in &ways {
        let counter = if kind == Kind::Paths { Counter::of_paths(root)? } else { Counter::build(root)? };
        let tools = Tools { counter, profiler: &profiler, options: what };
        if are_fixed {
            super::fix_addresses()?
        } else {
            super::randomise_addresses()?
        }
        println!("counting {name}, at {addresses} addresses:");
        println!("{:24} {:10} {:10} {:>14} {:>9}", "program", "native", "counted", "executions", "imbalance");
        for case in &cases {
            if !check_case(case, &tools, &scratch, options)? && case.open.is_none() {
                changed.push(case.name.as_str());
            }
        }
        for workload in &workloads {
            match check_workload(workload, &tools, &work, &scratch, options)? {
                Found::Same => {}
                Found::Contradictory => contradictory.push(workload.name.as_str()),
                Found::Changed => changed.push(&workload.name),
            }
        }
    }
    let checked = ways.len() * (cases.len() + workloads.len());
    ensure!(
        changed.is_empty(),
        "{} of {checked} programs are changed by counting: {}",
        changed.len(),
        changed.join(" ")
    );
    ensure!(
        contradictory.is_empty(),
        "none of {checked} programs is changed by counting, but profiles contradict themselves: {}",
        contradictory.join(" ")
    );
    let open = ways.len() * cases.iter().filter(|case| case.open.is_some()).count();
    println!("{} programs, none changed by counting; {open} more are open", checked - open);
    Ok(())
}

/// The cases and workloads meant; without names, workloads only where the suite is built.
pub fn select(root: &Path, names: &[String], only_torture: bool) -> Result<(Vec<Case>, Vec<Workload>)> {
    let mut cases = torture::load(root)?;
    let mut workloads = suite::select(root, &[])?;
    if names.is_empty() {
        if only_torture || suite::work_folder(root).is_err() {
            workloads.clear();
        }
        return Ok((cases, workloads));
    }
    let program = |case: &Case| case.name.split(':').next().unwrap_or_default().to_string();
    for name in names {
        if !cases.iter().any(|c| c.name == *name || program(c) == *name)
            && !workloads.iter().any(|w| w.name == *name)
        {
            bail!(
                "no torture program or workload {name}; ls suite/torture and cargo xtask suite list name them"
            );
        }
    }
    cases.retain(|c| names.contains(&c.name) || names.contains(&program(c)));
    workloads.retain(|w| names.contains(&w.name));
    Ok((cases, workloads))
}

fn check_case(case: &Case, tools: &Tools, scratch: &Path, options: &Options) -> Result<bool> {
    let program = case.build(scratch)?;
    let limit = Duration::from_secs(options.limit.into());
    let run = |prefix: &[String]| case.run(&program, prefix, scratch, limit);
    // Named after the program itself: env changes nothing, and both sides are executed by exec.
    let native = run(&["env".to_string()])?;
    let mut faults = Vec::new();
    if native.ended != case.ends || !native.errors.is_empty() {
        faults.push(format!("natively: expected {}, found {}", case.ends, outcome(&native)));
    }
    let file = scratch.join("counts");
    let prefix = tools.counter.prefix_with(tools.options, &file);
    let changed = first_changed(&native, &file, options.repeat, || run(&prefix))?;
    faults.extend(changed.iter().map(|counted| both(&native, counted)));
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    faults.extend(tools.contradictions(&file)?);
    let foreseen = |warning: &&str| case.warns.as_ref().is_some_and(|warns| warning.contains(warns.as_str()));
    let warnings = executions::warnings(&text).filter(|warning| !foreseen(warning));
    faults.extend(warnings.map(|warning| format!("counted with a warning: {warning}")));
    let ended = &changed.as_ref().unwrap_or(&native).ended;
    let verdict = match &case.open {
        _ if faults.is_empty() => "same".to_string(),
        Some(why) => format!("open: {why}"),
        None => "DIFFERENT".to_string(),
    };
    Ok(row(&case.name, [&native.ended, ended], &file, &verdict, &faults))
}

/// What was found of a workload.
enum Found {
    Same,
    /// It did the same, but its profile says what cannot be.
    Contradictory,
    Changed,
}

fn check_workload(
    workload: &Workload,
    tools: &Tools,
    work: &Path,
    scratch: &Path,
    options: &Options,
) -> Result<Found> {
    let outcome_of = |prefix: &[String]| execute(workload, work, prefix, options.limit);
    let native = outcome_of(&[])?;
    let file = scratch.join("counts");
    let prefix = tools.counter.prefix_with(tools.options, &file);
    let changed = first_changed(&native, &file, options.repeat, || outcome_of(&prefix))?;
    let mut faults: Vec<String> = changed.iter().map(|counted| both(&native, counted)).collect();
    faults.extend(tools.contradictions(&file)?);
    let ended = &changed.as_ref().unwrap_or(&native).ended;
    let (found, verdict) = match (&changed, faults.is_empty()) {
        (Some(_), _) => (Found::Changed, "DIFFERENT"),
        (None, false) => (Found::Contradictory, "same, CONTRADICTORY"),
        (None, true) => (Found::Same, "same"),
    };
    row(&workload.name, [&native.ended, ended], &file, verdict, &faults);
    Ok(found)
}

/// Runs a workload behind `prefix`.
pub fn execute(workload: &Workload, work: &Path, prefix: &[String], limit: u32) -> Result<Outcome> {
    let done = suite::execute(workload, Size::Test, work, prefix, limit)?;
    let ended = match done.status.code() {
        Some(124 | 137) => format!("hung {limit} s"),
        _ => torture::describe(done.status),
    };
    let errors = without_numbers(&done.errors).into_bytes();
    Ok(Outcome { ended, output: done.output.into_bytes(), errors })
}

/// The first of `repeat` runs under count that went another way than the native one, or left no counts.
fn first_changed(
    native: &Outcome,
    counts: &Path,
    repeat: u32,
    run: impl Fn() -> Result<Outcome>,
) -> Result<Option<Outcome>> {
    for _ in 0..repeat {
        forget(counts)?;
        let counted = run()?;
        if counted != *native || !counts.exists() {
            return Ok(Some(counted));
        }
    }
    Ok(None)
}

/// Removes the counts of an earlier run: what follows must write its own.
fn forget(counts: &Path) -> Result<()> {
    for file in [counts, &counts.with_extension("tw")] {
        match std::fs::remove_file(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

/// Workloads write times and numbers of timer ticks to standard error: only the words must agree.
fn without_numbers(text: &str) -> String {
    let mut words = String::new();
    for character in text.chars() {
        match character {
            '0'..='9' if words.ends_with('#') => {}
            '0'..='9' => words.push('#'),
            other => words.push(other),
        }
    }
    words
}

pub fn both(native: &Outcome, counted: &Outcome) -> String {
    format!("natively {}\n    counted {}", outcome(native), outcome(counted))
}

fn outcome(of: &Outcome) -> String {
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let shown: String = text.chars().take(400).collect();
        shown.trim_end().replace('\n', "\n        ")
    };
    format!("{}\n        output: {}\n        errors: {}", of.ended, text(&of.output), text(&of.errors))
}

fn row(name: &str, [native, counted]: [&str; 2], counts: &Path, verdict: &str, faults: &[String]) -> bool {
    // No counts at all is what a program that runs natively would show, too.
    let text = std::fs::read_to_string(counts).unwrap_or_default();
    let [executions, imbalance] = [executions::total(&text), executions::imbalance(&text)]
        .map(|number| number.map_or("none".to_string(), |number| number.to_string()));
    println!("{name:24} {native:10} {counted:10} {executions:>14} {imbalance:>9} {verdict}");
    for fault in faults {
        println!("    {fault}");
    }
    faults.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_out_and_words_stay() {
        assert_eq!(without_numbers("12 ticks in 3.5 s\n"), "# ticks in #.# s\n");
        assert_ne!(without_numbers("killed"), without_numbers("ended"));
    }
}
