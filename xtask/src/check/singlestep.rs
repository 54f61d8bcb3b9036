//! `cargo xtask check singlestep`: executions of every instruction equal those of a single-stepped run.

use super::executions::{self, Executed};
use super::segments::Place;
use super::stepper::{self, Steps};
use crate::counter::Counter;
use crate::folder::Folder;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Kernels; all if none is named
    names: Vec<String>,
    /// Differences to show of each kernel
    #[arg(long, default_value_t = 10)]
    show: usize,
}

/// A kernel of `suite/kernels` with arguments that keep it small.
struct Kernel {
    name: &'static str,
    arguments: &'static [&'static str],
    flags: &'static [&'static str],
    /// How long threads wait for one another, and so what the C library executes, differs between runs.
    waits: bool,
}

const KERNELS: [Kernel; 4] = [
    Kernel { name: "mcf", arguments: &["20", "2", "2"], flags: &[], waits: false },
    Kernel { name: "lbm", arguments: &["4", "1"], flags: &["-static"], waits: false },
    Kernel { name: "triad", arguments: &["1", "1"], flags: &["-static-pie"], waits: false },
    Kernel { name: "threads", arguments: &["churn", "8"], flags: &["-pthread"], waits: true },
];

/// The runtime refuses restartable sequences, and the C library would go another way.
pub const ENVIRONMENT: [(&str, &str); 1] = [("GLIBC_TUNABLES", "glibc.pthread.rseq=0")];

/// Prints a row for each kernel, and below it the instructions whose counts differ.
///
/// # Errors
/// If any count differs, or something cannot be run.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    for name in &options.names {
        ensure!(KERNELS.iter().any(|k| k.name == name), "no kernel {name} in this check");
    }
    let counter = Counter::build(root)?;
    let scratch = Folder::of(root, "singlestep")?;
    super::fix_addresses()?;
    println!("{:10} {:>13} {:>12} {:>11}", "kernel", "instructions", "executions", "differences");
    let mut bad = Vec::new();
    let wanted =
        |kernel: &&Kernel| options.names.is_empty() || options.names.iter().any(|n| n == kernel.name);
    for kernel in KERNELS.iter().filter(wanted) {
        let source = root.join("suite/kernels").join(format!("{}.c", kernel.name));
        let (stepped, differences) = check(kernel, &source, &counter, &scratch)?;
        println!(
            "{:10} {:13} {:12} {:11}",
            kernel.name,
            stepped.len(),
            stepped.values().map(|s| s.arrivals).sum::<i64>(),
            differences.len()
        );
        for ((module, offset), ours, theirs) in differences.iter().take(options.show) {
            println!("    {module} {offset:#x}: counted {ours}, stepped {theirs}");
        }
        if !differences.is_empty() {
            bad.push(kernel.name);
        }
    }
    ensure!(bad.is_empty(), "counts differ from those of single steps: {}", bad.join(" "));
    Ok(())
}

/// Counts and steps a kernel; gives the steps, and the instructions whose counts differ.
fn check(
    kernel: &Kernel,
    source: &Path,
    counter: &Counter,
    scratch: &Path,
) -> Result<(BTreeMap<Place, Steps>, Vec<Difference>)> {
    let program = scratch.join(kernel.name);
    compile(source, &program, kernel.flags)?;
    let counts = scratch.join("counts");
    let prepare = |mut command: Command| -> Result<Command> {
        // The C library looks at what its output goes to.
        let output = File::create(scratch.join("output")).context("the output's file")?;
        command.args(kernel.arguments).env_clear().envs(ENVIRONMENT).stdin(Stdio::null()).stdout(output);
        Ok(command)
    };
    let prefix = counter.prefix(&counts);
    let mut counting = Command::new(&prefix[0]);
    counting.args(&prefix[1..]).arg(&program);
    let done = prepare(counting)?.output().context("count")?;
    ensure!(done.status.success(), "{}: {} under count", kernel.name, done.status);
    let stepped = stepper::run(&mut prepare(Command::new(&program))?, None).with_context(|| kernel.name)?;
    let counted = executions::read(&counts)?;
    let own = program.to_string_lossy();
    let differences = compare(&counted, &stepped, |module| !kernel.waits || module == own);
    Ok((stepped, differences))
}

/// An instruction, how often we counted it, and how often it was stepped over.
type Difference = (Place, i64, i64);

/// Instructions whose counts differ, with ours and the stepper's; of those modules only that both know.
fn compare(
    counted: &BTreeMap<Place, Executed>,
    stepped: &BTreeMap<Place, Steps>,
    wanted: impl Fn(&str) -> bool,
) -> Vec<Difference> {
    let places: BTreeSet<&Place> = counted.keys().chain(stepped.keys()).collect();
    let one = |place: &Place| {
        let ours = counted.get(place);
        let steps = stepped.get(place).copied().unwrap_or_default();
        let theirs = if ours.is_some_and(Executed::repeats) { steps.arrivals } else { steps.all };
        let ours = ours.map_or(0, |e| e.times);
        (ours != theirs).then(|| (place.clone(), ours, theirs))
    };
    places.into_iter().filter(|(module, _)| wanted(module)).filter_map(one).collect()
}

/// Compiles a kernel.
///
/// # Errors
/// If the compiler does not take it.
pub fn compile(source: &Path, program: &Path, flags: &[&str]) -> Result<()> {
    let compiled =
        Command::new("gcc").args(["-O2", "-g", "-o"]).arg(program).arg(source).args(flags).status();
    ensure!(compiled.context("gcc")?.success(), "{}: does not compile", source.display());
    Ok(())
}
