//! `cargo xtask check callgrind`: executions of every instruction equal Valgrind's callgrind's.
//!
//! Valgrind shows the program a processor without AVX-512 and with another name, so the C library is told not
//! to use it on either side, and the code that looks at the processor is left out. Both sides run at fixed
//! addresses. What depends on the layout or the environment is found by a second callgrind run in a larger
//! environment; it may be no more than 1 % of all executions.

mod compare;
mod dump;
mod programs;

use super::executions::{self, Executed};
use super::segments::Place;
use crate::counter::{Counter, target_folder};
use anyhow::{Context, Result, ensure};
use clap::Args;
use compare::Compared;
use programs::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Programs of the check's own small list, or workloads of the suite at size `test`; the small list if
    /// none is named
    names: Vec<String>,
    /// Differences to show of each program
    #[arg(long, default_value_t = 10)]
    show: usize,
}

/// Most that callgrind may disagree with itself, as a share of executions.
const VARYING_LIMIT: f64 = 0.01;

/// What Valgrind's processor lacks.
const TUNABLES: &str = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ";

/// Makes the second environment larger, and so the stack lie elsewhere, with as many variables.
const PADDING: [&str; 2] =
    ["PADDING=x", "PADDING=0123456789abcdef0123456789abcdef0123456789abcdef0123456789"];

/// Prints a row for each program, and below it the instructions whose counts differ.
///
/// # Errors
/// If any count differs, callgrind disagrees with itself too much, or something cannot be run.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let counter = Counter::build(root)?;
    let scratch = target_folder(root).join("callgrind");
    std::fs::create_dir_all(&scratch).with_context(|| scratch.display().to_string())?;
    super::fix_addresses()?;
    println!(
        "{:16} {:>13} {:>12} {:>10} {:>9} {:>9} {:>11}",
        "program", "instructions", "executions", "varying", "repeated", "in flight", "differences"
    );
    let mut bad = Vec::new();
    for program in programs::select(root, &scratch, &options.names)? {
        let compared = check(&program, &counter, &scratch)?;
        let equal = compared.differences.is_empty();
        println!(
            "{:16} {:13} {:12} {:9.4}% {:9} {:9} {:11}",
            program.name,
            compared.instructions,
            compared.executions,
            100.0 * compared.varying_share(),
            compared.repeating,
            compared.in_flight,
            compared.differences.len()
        );
        for ((module, offset), ours, theirs) in compared.differences.iter().take(options.show) {
            println!("    {module} {offset:#x}: counted {ours}, callgrind {theirs}");
        }
        if !equal || compared.varying_share() > VARYING_LIMIT {
            bad.push(program.name);
        }
    }
    ensure!(bad.is_empty(), "counts differ from callgrind's: {}", bad.join(" "));
    Ok(())
}

fn check(program: &Program, counter: &Counter, scratch: &Path) -> Result<Compared> {
    let counts = scratch.join(format!("{}.counts", program.name));
    let mut prefix = environment_under_valgrind(program)?;
    prefix.extend(counter.prefix(&counts));
    execute(program, &prefix)?;
    let counted = executions::read(&counts)?;
    let [first, second] = [0, 1].map(|which| callgrind(program, scratch, which));
    let (first, second) = (first?, second?);
    Ok(compare::compare(&counted, [&first, &second], &modules(&counted, &first)))
}

/// The variables that a program finds under Valgrind, which adds its own: what reads the environment, as perl
/// and the dynamic loader do, would do other work without them.
fn environment_under_valgrind(program: &Program) -> Result<Vec<String>> {
    let mut prefix = environment(program, 0);
    prefix
        .extend(["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=/dev/null"].map(str::to_string));
    let printer = Program { command: "env -0".to_string(), ..program.clone() };
    let printed = execute(&printer, &prefix)?;
    let printed = String::from_utf8(printed).context("a variable is not UTF-8")?;
    let mut prefix = vec!["-i".to_string()];
    prefix.extend(printed.split_terminator('\0').map(str::to_string));
    Ok(prefix)
}

/// What `env` is to set, and nothing else, in the first or second of callgrind's runs.
fn environment(program: &Program, which: usize) -> Vec<String> {
    let path = format!("PATH={}", std::env::var("PATH").unwrap_or_default());
    let fixed = ["-i", "LC_ALL=C", "TZ=UTC", "OUT=/tmp", TUNABLES, PADDING[which], &path];
    let mut all = fixed.map(str::to_string).to_vec();
    all.extend(program.environment.iter().map(|(name, value)| format!("{name}={value}")));
    all
}

/// The modules of both sides but the dynamic loader, into whose work Valgrind puts its own library and
/// functions.
fn modules(counted: &BTreeMap<Place, Executed>, callgrind: &BTreeMap<Place, i64>) -> BTreeSet<String> {
    let counted: BTreeSet<&String> = counted.keys().map(|(module, _)| module).collect();
    let both = callgrind.keys().map(|(module, _)| module).filter(|module| counted.contains(module));
    both.filter(|module| !module.contains("/ld-linux")).cloned().collect()
}

fn callgrind(program: &Program, scratch: &Path, which: usize) -> Result<BTreeMap<Place, i64>> {
    let [dump, log] = ["dump", "log"].map(|kind| scratch.join(format!("{}.{kind}{which}", program.name)));
    let mut prefix = environment(program, which);
    let options = "valgrind -q --tool=callgrind --dump-instr=yes --compress-strings=no --compress-pos=no \
                   --run-libc-freeres=no --run-cxx-freeres=no --skip-plt=no --trace-symtab=yes";
    prefix.extend(options.split_whitespace().map(str::to_string));
    prefix.push(format!("--callgrind-out-file={}", dump.display()));
    prefix.push(format!("--log-file={}", log.display()));
    execute(program, &prefix)?;
    dump::read(&dump, &log)
}

/// Runs the program behind `prefix`, words for `env`; gives its standard output.
fn execute(program: &Program, prefix: &[String]) -> Result<Vec<u8>> {
    let script = format!("exec env \"$@\" {}", program.command);
    let mut command = Command::new("bash");
    command.args(["-c", &script, "check"]).args(prefix).current_dir(&program.folder);
    let done = command.stdin(Stdio::null()).output().context("bash")?;
    let errors = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "{}: {} under {}:\n{errors}", program.name, done.status, prefix.join(" "));
    Ok(done.stdout)
}
