//! The shares that `perf` finds.

use super::names::Symbols;
use super::{Found, Options, STACK_BYTES, Samples, execute};
use crate::suite::Workload;
use anyhow::{Context, Result, ensure};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Records a workload into `file` and reads the report.
pub fn record(root: &Path, workload: &Workload, options: &Options, file: &Path) -> Result<Found> {
    let frequency = options.frequency.to_string();
    let stack = format!("dwarf,{STACK_BYTES}");
    let data = file.to_string_lossy().into_owned();
    let words = ["perf", "record", "-q", "-o", &data, "-e", "cpu-clock:u", "-F", &frequency];
    let prefix: Vec<String> =
        words.iter().chain(&["--call-graph", &stack, "--"]).map(|word| word.to_string()).collect();
    execute(root, workload, options.size, &prefix)?;
    let fields = "overhead_children,overhead,sample,dso,sym";
    let report = perf(&[
        "report",
        "--stdio",
        "--children",
        "-g",
        "none",
        "--no-inline",
        "--no-demangle",
        "--percent-limit",
        "0",
        "-t",
        ";",
        "-F",
        fields,
        "-i",
        &data,
    ])?;
    let paths = paths_of(&perf(&["script", "--show-mmap-events", "-F", "ip", "-i", &data])?);
    parse(&report, &paths)
}

fn perf(arguments: &[&str]) -> Result<String> {
    let output = Command::new("perf").args(arguments).output().context("perf (package linux-perf)")?;
    ensure!(output.status.success(), "perf: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Paths of mapped files by their names, by which the report calls them.
fn paths_of(events: &str) -> HashMap<String, PathBuf> {
    let mapped = events.lines().filter(|line| line.contains("PERF_RECORD_MMAP"));
    let path = |line: &str| Some(PathBuf::from(line.get(line.rfind(" /")? + 1..)?));
    let named = |path: PathBuf| Some((path.file_name()?.to_string_lossy().into_owned(), path));
    mapped.filter_map(path).filter_map(named).collect()
}

/// Lines such as ` 53.95% ; 21.05% ; 16         ;libc.so.6    ;[.] msort_with_tmp.part.0`.
fn parse(report: &str, paths: &HashMap<String, PathBuf>) -> Result<Found> {
    let mut symbols = Symbols::default();
    let mut rows = Vec::new();
    let mut samples = 0;
    for line in report.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(';').map(str::trim).collect();
        let [children, own, count, module, symbol] = fields[..] else { continue };
        let percent = |text: &str| text.trim_end_matches('%').parse::<f64>();
        let (children, own) = (percent(children)?, percent(own)?);
        samples += count.parse::<u64>()?;
        let module = paths.get(module).cloned().unwrap_or_else(|| PathBuf::from(module));
        let name = symbol.split_once("] ").map_or(symbol, |(_, name)| name);
        if name.starts_with("0x") {
            // Code that no symbol table names: each tool divides it as it likes.
            continue;
        }
        rows.push((symbols.function(&module, name), own, children));
    }
    let mut found = Found { samples, ..Found::default() };
    for (function, own, children) in rows {
        let of: &mut Samples = found.functions.entry(function).or_default();
        of.own += own / 100.0 * samples as f64;
        of.total += children / 100.0 * samples as f64;
    }
    ensure!(samples > 0, "perf report shows no samples");
    Ok(found)
}
