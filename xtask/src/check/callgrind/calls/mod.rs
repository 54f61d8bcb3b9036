//! `cargo xtask check callgrind --calls`: what is executed under each call site equals callgrind's inclusive counts.
//!
//! The two differ by design in two ways, which are verified rather than excused: callgrind counts recursion at every
//! level, so totals of recursive functions are compared as well ([`totals`]), and takes a jump to another
//! function for a call, so the instruction must be one. All else may differ only by as much as executions below the
//! call do ([`doubt`]).

mod counted;
mod doubt;
mod explain;
mod graph;
mod instruction;
mod totals;

use super::launch::{PADDING, TUNABLES, callgrind, environment_under_valgrind, execute};
use super::programs::{self, Program};
use super::{Options, modules};
use crate::folder::Folder;
use crate::profiler::Profiler;
use anyhow::{Context, Result, ensure};
use counted::Counted;
use explain::{Class, Row};
use std::path::Path;
use totals::Totals;

/// Prints for each program how its calls compare, and those that nothing explains.
///
/// # Errors
/// If there are such calls, or something cannot be run.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let profiler = Profiler::build(root)?;
    let scratch = Folder::of(root, "callgrind")?;
    crate::check::fix_addresses()?;
    let mut bad = Vec::new();
    for program in programs::select(root, &scratch, &options.names)? {
        // Callgrind sees such a program's calls from `main` on only.
        if program.is_static {
            continue;
        }
        let (rows, totals) = check(program.clone(), &profiler, &scratch)?;
        print(&program.name, &rows, &totals, options);
        if !is_explained(&rows, &totals) {
            bad.push(program.name);
        }
    }
    ensure!(bad.is_empty(), "calls cost what callgrind's do not: {}", bad.join(" "));
    Ok(())
}

fn is_explained(rows: &[Row], totals: &Totals) -> bool {
    totals.different.is_empty() && rows.iter().all(|row| row.class != Class::Unexplained)
}

fn check(mut program: Program, profiler: &Profiler, scratch: &Path) -> Result<(Vec<Row>, Totals)> {
    // Binds functions before the program starts, as callgrind follows the loader's way back into them otherwise; and
    // no copy is long enough for a repeating instruction.
    let tunables =
        TUNABLES.trim_start_matches("GLIBC_TUNABLES=").replace("threshold=0x1000:", "threshold=0x10000:");
    program.environment.push(("GLIBC_TUNABLES".to_string(), tunables));
    program.environment.push(("LD_BIND_NOW".to_string(), "1".to_string()));
    let mut result = (Vec::new(), Totals::default());
    for padding in PADDING {
        let counted = count(&program, profiler, scratch, padding)?;
        let dump = callgrind(&program, scratch, padding, "--separate-recs=500 --skip-direct-rec=no")?;
        let rows = explain::explain(&counted, &dump, &modules(&counted.executions, &dump.executions));
        let totals = totals::compare(&counted, &dump, &rows);
        result = (rows, totals);
        if is_explained(&result.0, &result.1) {
            break;
        }
    }
    Ok(result)
}

fn count(program: &Program, profiler: &Profiler, scratch: &Path, padding: &str) -> Result<Counted> {
    let profile = scratch.join(format!("{}.tw", program.name));
    let mut prefix = environment_under_valgrind(program, padding)?;
    let words = [
        profiler.program.as_path(),
        "count".as_ref(),
        "--quiet".as_ref(),
        "-o".as_ref(),
        &profile,
        "--".as_ref(),
    ];
    prefix.extend(words.iter().map(|word| word.to_string_lossy().into_owned()));
    execute(program, &prefix)?;
    Counted::load(&profile).with_context(|| profile.display().to_string())
}

fn print(name: &str, rows: &[Row], totals: &Totals, options: &Options) {
    println!("{name}: {} calls by site and callee", rows.len());
    for (class, words) in [
        (Class::Equal, "equal"),
        (Class::InFlight, "open at the end"),
        (Class::Repeats, "above repeating instructions"),
        (Class::Layout, "within what executions below differ by"),
        (Class::Recursion, "recursion"),
        (Class::Jump, "jumps"),
        (Class::Unexplained, "not explained"),
    ] {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.class == class).collect();
        let largest = rows.iter().max_by(|a, b| a.share().total_cmp(&b.share()));
        let apart = match largest {
            Some(row) if !matches!(class, Class::Equal | Class::Jump) => {
                let most = rows.iter().map(|row| row.difference()).max().unwrap_or(0);
                format!("apart by at most {most} instructions, {:.4} %", 100.0 * row.share())
            }
            _ => String::new(),
        };
        println!("{}", format!("  {words:40} {:6}  {apart}", rows.len()).trim_end());
    }
    let Totals { equal, within, jumping, different } = totals;
    println!(
        "  recursive functions: totals of {equal} equal, {within} within, {jumping} jump, {} differ",
        different.len()
    );
    let of = |class: Class| rows.iter().filter(move |row| row.class == class);
    let excused = of(Class::Layout).filter(|_| options.varying);
    for row in of(Class::Unexplained).take(options.show).chain(excused) {
        let ((module, site), (callee, entry)) = &row.site;
        let [ours, theirs] = row.costs;
        println!(
            "    {module} {site:#x} calls {callee} {entry:#x}: counted {} {}, callgrind {} {}, may differ by {}",
            ours.times, ours.instructions, theirs.times, theirs.instructions, row.allowed
        );
    }
    for (function, ours, theirs) in different.iter().take(options.show) {
        println!("    {function}: counted {ours}, callgrind {theirs}");
    }
}
