//! `cargo xtask check exports`: each format opened by a reader that others wrote, or checked against the
//! schema of that reader, and its totals compared with those of `timewise report`.
//!
//! The program counts its own calls of one function and prints their number, so that not only our own
//! figures agree with each other.

mod formats;
mod needs;

use crate::counter::target_folder;
use crate::folder::Folder;
use anyhow::{Context, Result, ensure};
use clap::Args;
use needs::Needs;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Nothing to choose.
#[derive(Args)]
pub struct Options {}

/// A profile and what is known of it.
struct Exported {
    timewise: PathBuf,
    folder: Folder,
    profile: PathBuf,
    /// Calls of `cmp_div`, as the program counted them.
    calls: u64,
    /// `timewise report --by function`, as JSON.
    functions: Value,
}

/// Prints a line for each format.
///
/// # Errors
/// If a reader refuses a file or understands something else than was meant, or something cannot be run.
pub fn run(root: &Path, _: &Options) -> Result<()> {
    let folder = Folder::of(root, "exports")?;
    let needs = Needs::install(root, &folder)?;
    let timewise = build(root)?;
    let exported = Exported::record(root, timewise, folder)?;
    formats::callgrind(&exported)?;
    formats::folded(&exported)?;
    formats::pprof(&exported)?;
    formats::web(&exported, &needs)?;
    formats::tables(&exported, &needs)
}

/// The command with all formats, not optimised: it reads one small profile.
fn build(root: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "-p", "timewise", "--features", "parquet"]);
    let built = cargo.current_dir(root).status().context("cargo")?;
    ensure!(built.success(), "timewise does not build with all formats");
    Ok(target_folder(root).join("debug/timewise"))
}

impl Exported {
    fn record(root: &Path, timewise: PathBuf, folder: Folder) -> Result<Exported> {
        let program = folder.join("qsortdiv");
        let mut compiler = Command::new("gcc");
        compiler.args(["-O1", "-g", "-fno-omit-frame-pointer", "-fno-inline", "-o"]).arg(&program);
        compiler.arg(root.join("suite/kernels/qsortdiv.c"));
        ensure!(compiler.status().context("gcc")?.success(), "qsortdiv.c does not compile");
        let profile = folder.join("profile.tw");
        let mut run = Command::new(&timewise);
        let run = run.args(["run", "-F", "2000", "-o"]).arg(&profile).arg("--").arg(&program).arg("1000");
        let output = run.output().context("timewise run")?;
        ensure!(output.status.success(), "timewise run: {}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(output.stdout)?;
        let calls = printed.trim().rsplit(' ').next().and_then(|number| number.parse().ok());
        let mut exported = Exported {
            calls: calls.with_context(|| format!("qsortdiv printed {printed}"))?,
            functions: Value::Null,
            timewise,
            folder,
            profile,
        };
        let report = exported.timewise(&["report", "--by", "function", "--format", "json"])?;
        exported.functions = serde_json::from_slice(&report)?;
        Ok(exported)
    }

    /// What a command of `timewise` prints about the profile.
    fn timewise(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let (verb, options) = arguments.split_first().context("a command")?;
        printed(Command::new(&self.timewise).arg(verb).arg(&self.profile).args(options))
    }

    /// Writes an export and gives its path.
    fn export(&self, format: &str) -> Result<PathBuf> {
        let path = self.folder.join(format!("exported.{format}"));
        let text = path.to_str().context("a path of text")?;
        self.timewise(&["export", "--to", format, "-o", text])?;
        Ok(path)
    }

    /// A number of the function `name` in the report.
    fn figure(&self, name: &str, field: &str) -> Result<f64> {
        let rows = self.functions["rows"].as_array().context("a report has rows")?;
        let row = rows.iter().find(|row| row["function"] == name);
        let row = row.with_context(|| format!("no function {name} in the report"))?;
        row[field].as_f64().with_context(|| format!("no {field} of {name} in the report"))
    }

    /// How long a cycle took, nanoseconds.
    fn cycle_ns(&self) -> Result<f64> {
        let hz =
            self.functions["clock"]["core_hz"].as_f64().context("a report tells the core's frequency")?;
        Ok(1e9 / hz)
    }

    /// The sum of a number over all functions of the report.
    fn sum(&self, field: &str) -> Result<f64> {
        let rows = self.functions["rows"].as_array().context("a report has rows")?;
        Ok(rows.iter().filter_map(|row| row[field].as_f64()).sum())
    }
}

/// Runs a command that must succeed, and gives what it printed.
fn printed(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {message}{}", String::from_utf8_lossy(&output.stdout));
    Ok(output.stdout)
}
