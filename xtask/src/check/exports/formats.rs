//! What each reader must understand.

use super::needs::Needs;
use super::{Exported, printed};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::Command;

/// The function that the program counts its calls of.
const COUNTED: &str = "cmp_div";

/// `callgrind_annotate` finds the report's totals and the program's number of calls.
pub fn callgrind(exported: &Exported) -> Result<()> {
    let path = exported.export("callgrind")?;
    let annotate = |options: &[&str]| -> Result<String> {
        let output = printed(Command::new("callgrind_annotate").args(options).arg(&path))?;
        Ok(String::from_utf8(output)?)
    };
    let own = annotate(&["--threshold=100", "--auto=no", "--show=Instructions"])?;
    same(
        "callgrind_annotate",
        "instructions",
        first_number(&own, "PROGRAM TOTALS")?,
        exported.sum("instructions_self")?,
    )?;
    let of_function = first_number(&own, &format!(":{COUNTED} "))?;
    same("callgrind_annotate", COUNTED, of_function, exported.figure(COUNTED, "instructions_self")?)?;
    let inclusive = annotate(&["--threshold=100", "--auto=no", "--inclusive=yes", "--show=Instructions"])?;
    let text = std::fs::read_to_string(&path)?;
    let calls = calls_of(&text, COUNTED);
    ensure!(calls == exported.calls, "callgrind: {calls} calls of {COUNTED}, of {}", exported.calls);
    // It calls nothing, so what its calls cost is what it costs itself.
    same(
        "callgrind_annotate",
        "calls of it",
        first_number(&inclusive, &format!(":{COUNTED} "))?,
        of_function,
    )?;
    let main = first_number(&inclusive, ":main ")?;
    let all = exported.sum("instructions_self")?;
    ensure!(main > 0.99 * all && main <= all, "callgrind: {main} instructions below main, of {all}");
    println!("callgrind   callgrind_annotate: {calls} calls of {COUNTED}; below main {main:.0} instructions");
    Ok(())
}

/// The number at the front of the first line that holds `what`.
fn first_number(text: &str, what: &str) -> Result<f64> {
    let line =
        text.lines().find(|line| line.contains(what)).with_context(|| format!("no {what} in {text}"))?;
    let number: String = line.trim().chars().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
    number.replace(',', "").parse().with_context(|| format!("no number in {line}"))
}

/// The sum of the counts of calls to `function` in a file of callgrind's format.
fn calls_of(text: &str, function: &str) -> u64 {
    let mut numbers = std::collections::HashMap::new();
    let mut sum = 0;
    let mut wanted = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("cfn=").or_else(|| line.strip_prefix("fn=")) {
            let (number, name) = name.split_once(' ').unwrap_or((name, ""));
            let name: &str = if name.is_empty() { numbers.get(number).copied().unwrap_or("") } else { name };
            numbers.insert(number, name);
            wanted = line.starts_with("cfn=") && name == function;
        } else if let Some(call) = line.strip_prefix("calls=").filter(|_| wanted) {
            sum += call.split(' ').next().and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    sum
}

/// Folded stacks add up to the time of the report.
pub fn folded(exported: &Exported) -> Result<()> {
    let text = std::fs::read_to_string(exported.export("folded")?)?;
    let mut total = 0.0;
    for line in text.lines() {
        let (stack, weight) = line.rsplit_once(' ').with_context(|| format!("no weight in {line}"))?;
        ensure!(stack.starts_with("qsortdiv;"), "the thread's name is missing: {line}");
        total += weight.parse::<u64>().with_context(|| format!("no weight in {line}"))? as f64;
    }
    same("folded", "time", total, exported.sum("cycles_self")? * exported.cycle_ns()?)?;
    ensure!(text.contains(";main;"), "no stack goes through main");
    println!("folded      {} stacks, {:.3} s", text.lines().count(), total / 1e9);
    Ok(())
}

/// `go tool pprof` finds the report's time and instructions.
pub fn pprof(exported: &Exported) -> Result<()> {
    let path = exported.export("pprof")?;
    let top = |sample: &str, unit: &str| -> Result<String> {
        let options = [&format!("-sample_index={sample}"), &format!("-unit={unit}")];
        let mut command = Command::new("go");
        command
            .args(["tool", "pprof", "-top", "-nodecount=1000", "-nodefraction=0"])
            .args(options)
            .arg(&path);
        Ok(String::from_utf8(printed(&mut command)?)?)
    };
    let cycle_ns = exported.cycle_ns()?;
    let expected =
        [("instructions", "count", "instructions_self", 1.0), ("cpu", "ns", "cycles_self", cycle_ns)];
    for (sample, unit, field, factor) in expected {
        let text = top(sample, unit)?;
        let line = text.lines().find(|line| line.ends_with(&format!(" {COUNTED}")));
        let line = line.with_context(|| format!("no {COUNTED} in {text}"))?;
        let number: String = line.trim().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        // Where samples were charged to the instruction before, a few left the function.
        let expected = exported.figure(COUNTED, field)? * factor;
        let found: f64 = number.parse().with_context(|| format!("no number in {line}"))?;
        let slack = if sample == "cpu" { 0.05 * expected } else { 0.0 };
        ensure!(
            (found - expected).abs() <= slack.max(0.5),
            "pprof: {found} {field} of {COUNTED}, not {expected}"
        );
    }
    let raw = String::from_utf8(printed(Command::new("go").args(["tool", "pprof", "-raw"]).arg(&path))?)?;
    ensure!(raw.contains("qsortdiv") && raw.contains("thread:[qsortdiv]"), "pprof: {raw}");
    println!("pprof       go tool pprof: time and instructions of {COUNTED}");
    Ok(())
}

/// The readers that are web pages: schemas and documented fields.
pub fn web(exported: &Exported, needs: &Needs) -> Result<()> {
    let speedscope = exported.export("speedscope")?;
    let found: Value = serde_json::from_str(&needs.open("speedscope", &[&speedscope, &needs.schema])?)?;
    let own = found["own_ns"].as_object().context("times of functions")?;
    let total: f64 = own.values().filter_map(Value::as_f64).sum();
    same("speedscope", "time", total, exported.sum("cycles_self")? * exported.cycle_ns()?)?;
    println!("speedscope  its schema: {:.3} s in {} functions", total / 1e9, own.len());
    let firefox = exported.export("firefox")?;
    let found: Value = serde_json::from_str(&needs.open("firefox", &[&firefox])?)?;
    let number = |which: &str, name: &str| found[which][name].as_f64().unwrap_or(0.0);
    let all: f64 =
        found["own"].as_object().context("samples of functions")?.values().filter_map(Value::as_f64).sum();
    same("firefox", "samples", all, exported.sum("samples_self")?)?;
    // The report charges samples to the instruction before, which may lie in another function.
    let (below, expected) = (number("total", "main"), exported.figure("main", "samples_total")?);
    ensure!((below - expected).abs() < 0.02 * all, "firefox: {below} samples below main, of {expected}");
    ensure!(below >= 0.9 * all, "firefox: only {below} samples of {all} are below main");
    ensure!(found["threads"][0] == "qsortdiv", "firefox: threads {}", found["threads"]);
    println!("firefox     its tables: {all} samples, {below} of them below main");
    Ok(())
}

/// Tables: Python reads the CSV, DuckDB the Parquet file, and both see the same.
pub fn tables(exported: &Exported, needs: &Needs) -> Result<()> {
    let csv: Value = serde_json::from_str(&needs.open("csv", &[&exported.export("csv")?])?)?;
    let parquet: Value = serde_json::from_str(&needs.open("parquet", &[&exported.export("parquet")?])?)?;
    for name in ["rows", "cmp_div", "executions", "samples", "cpu_ns", "cycles"] {
        let (one, other) = (csv[name].as_f64(), parquet[name].as_f64());
        let (one, other) = (one.context("a number")?, other.context("a number")?);
        same("parquet", name, other, one)?;
    }
    let number = |name: &str| csv[name].as_f64().unwrap_or(f64::NAN);
    same("csv", "instructions", number("executions"), exported.sum("instructions_self")?)?;
    same("csv", COUNTED, number("cmp_div"), exported.figure(COUNTED, "instructions_self")?)?;
    same("csv", "samples", number("samples"), exported.sum("samples_self")?)?;
    println!("csv         Python: {} rows, {} executions", number("rows"), number("executions"));
    println!("parquet     DuckDB: the same");
    Ok(())
}

/// Fails unless two numbers are the same, but for rounding.
fn same(reader: &str, what: &str, found: f64, expected: f64) -> Result<()> {
    let near = (found - expected).abs() <= 1.0 + 1e-6 * expected.abs();
    ensure!(near, "{reader} finds {found} as {what}, the report {expected}");
    Ok(())
}
