//! `cargo xtask check callgrind`: executions of every instruction equal Valgrind's callgrind's.
//!
//! Valgrind shows the program another processor, without AVX-512, and no vDSO. So the C library is told on both
//! sides what to choose; what it notes of the real one all the same is left out. So is the dynamic loader, which looks
//! at both, and of a static program what it does before `main` is compared with single steps instead. Both sides run at
//! fixed addresses with the same variables. What depends on the layout is found by further callgrind runs in larger
//! environments; it may be no more than 1 % of all executions.
//!
//! With `--calls`, what calls cost is compared instead ([`calls`]).

mod calls;
mod compare;
mod dump;
mod launch;
mod programs;

use super::executions::{self, Executed};
use super::segments::Place;
use super::stepper::{self, Steps};
use crate::counter::Counter;
use crate::folder::Folder;
use anyhow::{Context, Result, ensure};
use clap::Args;
use compare::Compared;
pub use launch::TUNABLES;
use launch::{PADDING, callgrind, environment_under_valgrind, execute};
use programs::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Programs of the check's own small list, `lua-unseeded`, or workloads of the suite at size `test`; the small
    /// list if none is named
    names: Vec<String>,
    /// Differences to show of each program
    #[arg(long, default_value_t = 10)]
    show: usize,
    /// List the instructions that are excused because callgrind's own runs disagree about them; of calls, those
    /// that differ by no more than what is executed below them
    #[arg(long)]
    varying: bool,
    /// Compare what is executed under each call site instead of executions of instructions
    #[arg(long)]
    calls: bool,
}

/// Most that callgrind may disagree with itself, as a share of executions.
const VARYING_LIMIT: f64 = 0.01;

/// Further sizes, for what still differs: string functions take another way where a string ends near the end
/// of a page, and only a larger step moves the variables there, or away.
const LARGE_PADDING: [usize; 6] = [500, 1100, 1700, 2300, 2900, 3500];

/// Prints a row for each program, and below it the instructions whose counts differ.
///
/// # Errors
/// If any count differs, callgrind disagrees with itself too much, or something cannot be run.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    if options.calls {
        return calls::run(root, options);
    }
    let counter = Counter::build(root)?;
    let scratch = Folder::of(root, "callgrind")?;
    super::fix_addresses()?;
    println!(
        "{:16} {:>13} {:>12} {:>10} {:>9} {:>9} {:>5} {:>11}",
        "program", "instructions", "executions", "varying", "repeated", "in flight", "noted", "differences"
    );
    let mut bad = Vec::new();
    for program in programs::select(root, &scratch, &options.names)? {
        let compared = check(&program, &counter, &scratch)?;
        let equal = compared.differences.is_empty();
        println!(
            "{:16} {:13} {:12} {:9.4}% {:9} {:9} {:5} {:11}",
            program.name,
            compared.instructions,
            compared.executions,
            100.0 * compared.varying_share(),
            compared.repeating,
            compared.in_flight.len(),
            compared.noted.len(),
            compared.differences.len()
        );
        for ((module, offset), ours, theirs) in compared.differences.iter().take(options.show) {
            println!("    {module} {offset:#x}: counted {ours}, callgrind {theirs}");
        }
        for ((module, offset), ours, least, most) in compared.variations.iter().filter(|_| options.varying) {
            println!("    {module} {offset:#x}: counted {ours}, callgrind {least} to {most}");
        }
        if !equal || compared.varying_share() > VARYING_LIMIT {
            bad.push(program.name);
        }
    }
    ensure!(bad.is_empty(), "counts differ from callgrind's: {}", bad.join(" "));
    Ok(())
}

fn check(program: &Program, counter: &Counter, scratch: &Path) -> Result<Compared> {
    let counted = count(program, counter, scratch, PADDING[0])?;
    let mut dumps = Vec::new();
    for padding in &PADDING {
        dumps.push(callgrind(program, scratch, padding, "")?.executions);
    }
    let mut compared = compare_known(&counted, &dumps)?;
    for size in LARGE_PADDING {
        if compared.differences.is_empty() {
            break;
        }
        let padding = format!("PADDING={}", "x".repeat(size));
        dumps.push(callgrind(program, scratch, &padding, "")?.executions);
        // What only our own layout brought about is gone in another one; a wrong count is not.
        let again = compare_known(&count(program, counter, scratch, &padding)?, &dumps)?;
        let differs: BTreeSet<&Place> = again.differences.iter().map(|(place, ..)| place).collect();
        compared = compare_known(&counted, &dumps)?;
        compared.differences.retain(|(place, ..)| differs.contains(place));
    }
    Ok(compared)
}

/// Executions as timewise counts them, in an environment with this padding.
fn count(
    program: &Program,
    counter: &Counter,
    scratch: &Path,
    padding: &str,
) -> Result<BTreeMap<Place, Executed>> {
    let counts = scratch.join(format!("{}.counts", program.name));
    let mut prefix = environment_under_valgrind(program, padding)?;
    let steps = program.is_static.then(|| steps_to_main(program, &prefix)).transpose()?;
    prefix.extend(counter.prefix(&counts));
    execute(program, &prefix)?;
    let mut counted = executions::read(&counts)?;
    for (place, steps) in steps.into_iter().flatten() {
        let executed = counted.entry(place).or_default();
        executed.times -= if executed.repeats() { steps.arrivals } else { steps.all };
    }
    Ok(counted)
}

/// Compares, and leaves out where Valgrind steers the program another way.
fn compare_known(counted: &BTreeMap<Place, Executed>, dumps: &[BTreeMap<Place, i64>]) -> Result<Compared> {
    let mut compared = compare::compare(counted, dumps, &modules(counted, &dumps[0]));
    let steered = steered_by_valgrind(&compared)?;
    compared.differences.retain(|((module, offset), ..)| {
        !steered.iter().any(|(library, range)| library == module && range.contains(offset))
    });
    Ok(compared)
}

/// A static program looks at the processor, and for the vDSO, by itself before `main`: what it executes until
/// then is single-stepped instead.
fn steps_to_main(program: &Program, environment: &[String]) -> Result<BTreeMap<Place, Steps>> {
    let words: Vec<&str> = program.command.split(' ').collect();
    let main = symbols(&program.folder.join(words[0]))?.into_iter().find(|(name, _)| name == "main");
    let (_, main) = main.with_context(|| format!("{}: no symbol main", program.name))?;
    let mut command = Command::new(words[0]);
    let variables = environment[1..].iter().filter_map(|variable| variable.split_once('='));
    command
        .args(&words[1..])
        .current_dir(&program.folder)
        .env_clear()
        .envs(variables)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    stepper::run(&mut command, Some(main.start))
}

/// The C library's functions that ask for the time, which look for the vDSO that Valgrind hides, each with what
/// stands before it without a name, its way through the kernel; and the choice among implementations of
/// `strstr`, by a preference that no tunable reaches.
fn steered_by_valgrind(compared: &Compared) -> Result<Vec<(String, Range<u64>)>> {
    let libraries: BTreeSet<&String> = compared.differences.iter().map(|((module, _), ..)| module).collect();
    let mut all = Vec::new();
    for library in libraries.into_iter().filter(|l| l.ends_with("/libc.so.6")) {
        let symbols = symbols(Path::new(library))?;
        let steered = ["time", "gettimeofday", "clock_gettime", "strstr"];
        let is_steered = |name: &str| steered.contains(&name.split('@').next().unwrap_or_default());
        for (_, range) in symbols.iter().filter(|(name, _)| is_steered(name)) {
            let before = symbols.iter().map(|(_, other)| other.end).filter(|end| *end <= range.start).max();
            all.push((library.clone(), before.unwrap_or(range.start)..range.end));
        }
    }
    Ok(all)
}

/// Names and addresses of a file's functions.
fn symbols(file: &Path) -> Result<Vec<(String, Range<u64>)>> {
    let read = Command::new("readelf").args(["-sW", "--dyn-syms"]).arg(file).output().context("readelf")?;
    let text = String::from_utf8_lossy(&read.stdout).into_owned();
    let one = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, address, size, "FUNC" | "IFUNC", _, _, _, name] = fields[..] else { return None };
        let start = u64::from_str_radix(address, 16).ok()?;
        Some((name.to_string(), start..start + size.parse::<u64>().ok()?))
    };
    Ok(text.lines().filter_map(one).collect())
}

/// The modules of both sides but the dynamic loader, into whose work Valgrind puts its own library and
/// functions.
fn modules(counted: &BTreeMap<Place, Executed>, callgrind: &BTreeMap<Place, i64>) -> BTreeSet<String> {
    let counted: BTreeSet<&String> = counted.keys().map(|(module, _)| module).collect();
    let both = callgrind.keys().map(|(module, _)| module).filter(|module| counted.contains(module));
    both.filter(|module| !module.contains("/ld-linux")).cloned().collect()
}
