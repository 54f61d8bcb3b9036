//! `cargo xtask check callgrind`: executions of every instruction equal Valgrind's callgrind's.
//!
//! Valgrind shows the program another processor, without AVX-512, and no vDSO. So the C library is told on both
//! sides what to choose; the dynamic loader, which looks at both, is left out, and of a static program what it
//! does before `main` is compared with single steps instead. Both sides run at fixed addresses with the same
//! variables. What depends on the layout is found by further callgrind runs in larger environments; it
//! may be no more than 1 % of all executions.

mod compare;
mod dump;
mod programs;

use super::executions::{self, Executed};
use super::segments::Place;
use super::stepper::{self, Steps};
use crate::counter::{Counter, target_folder};
use anyhow::{Context, Result, ensure};
use clap::Args;
use compare::Compared;
use programs::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
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
    /// List the instructions that are excused because callgrind's own runs disagree about them
    #[arg(long)]
    varying: bool,
}

/// Most that callgrind may disagree with itself, as a share of executions.
const VARYING_LIMIT: f64 = 0.01;

/// Makes the C library choose the same routines and thresholds on Valgrind's processor, which is another
/// one and lacks AVX-512, as on the real one.
const TUNABLES: &str = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-ERMS,\
    -Fast_Unaligned_Load,-Fast_Unaligned_Copy,-Fast_Rep_String,-Prefer_ERMS,-Prefer_FSRM:\
    glibc.cpu.x86_data_cache_size=0x8000:glibc.cpu.x86_shared_cache_size=0x100000:\
    glibc.cpu.x86_non_temporal_threshold=0xc0000:glibc.cpu.x86_rep_movsb_threshold=0x1000:\
    glibc.cpu.x86_rep_stosb_threshold=0x1000:glibc.pthread.rseq=0";

/// Makes the later environments larger, and so the stack lie elsewhere, with as many variables and without
/// another size of allocation for them.
const PADDING: [&str; 3] = ["PADDING=1", "PADDING=12345678901234", "PADDING=123456789012345678901"];

/// Further sizes, for what still differs: string functions take another way where a string ends near the end
/// of a page, and only a larger step moves the variables there, or away.
const LARGE_PADDING: [usize; 6] = [500, 1100, 1700, 2300, 2900, 3500];

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
        dumps.push(callgrind(program, scratch, padding)?);
    }
    let mut compared = compare_known(&counted, &dumps)?;
    for size in LARGE_PADDING {
        if compared.differences.is_empty() {
            break;
        }
        let padding = format!("PADDING={}", "x".repeat(size));
        dumps.push(callgrind(program, scratch, &padding)?);
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

/// The variables that a program finds under Valgrind, which adds its own: what reads the environment, as perl
/// and the dynamic loader do, would do other work without them.
fn environment_under_valgrind(program: &Program, padding: &str) -> Result<Vec<String>> {
    let mut prefix = environment(program, padding);
    prefix
        .extend(["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=/dev/null"].map(str::to_string));
    let printer = Program { command: "env -0".to_string(), ..program.clone() };
    let printed = execute(&printer, &prefix)?;
    let printed = String::from_utf8(printed).context("a variable is not UTF-8")?;
    let mut prefix = vec!["-i".to_string()];
    let mut variables: Vec<String> = printed.split_terminator('\0').map(str::to_string).collect();
    if program.is_static {
        // The order that Rust's Command gives to the stepped program.
        variables.sort();
    }
    prefix.extend(variables);
    Ok(prefix)
}

/// What `env` is to set, and nothing else, in one of callgrind's runs.
fn environment(program: &Program, padding: &str) -> Vec<String> {
    let path = "PATH=/usr/local/bin:/usr/bin:/bin";
    // No locale is named: each of its categories would be compared with a name on the stack, in a way that
    // depends on where the stack lies.
    let fixed = ["-i", "TZ=UTC", "OUT=/tmp", TUNABLES, padding, path];
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

fn callgrind(program: &Program, scratch: &Path, padding: &str) -> Result<BTreeMap<Place, i64>> {
    let size = padding.len();
    let [dump, log] = ["dump", "log"].map(|kind| scratch.join(format!("{}.{kind}{size}", program.name)));
    let mut prefix = environment(program, padding);
    let options = "valgrind -q --tool=callgrind --dump-instr=yes --compress-strings=no --compress-pos=no \
                   --run-libc-freeres=no --run-cxx-freeres=no --skip-plt=no --trace-symtab=yes";
    prefix.extend(options.split_whitespace().map(str::to_string));
    prefix.push(format!("--callgrind-out-file={}", dump.display()));
    prefix.push(format!("--log-file={}", log.display()));
    if program.is_static {
        // The dump proper then holds what follows.
        prefix.push("--dump-before=main".to_string());
    }
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
