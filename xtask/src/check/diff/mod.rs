//! `cargo xtask check diff`: a small change that was planted in one loop is named first, and builds that are the
//! same raise no alarm.
//!
//! Each program is built three times: as it is, once more as it is in another folder, and with some more work in
//! each round of one loop, a few per cent of the program's time. Profiles of the first and the third must give the
//! planted function and loop as first findings; profiles of the first and the second must give none, and
//! must pass the gate `time>2%`, one against one and in groups.

mod program;

use crate::profiler::Profiler;
use crate::suite;
use anyhow::{Context, Result, ensure};
use clap::Args;
use program::{Built, Program};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Programs: bzip2, lua, sqlite, or planted, which needs no suite; the first three if none is named
    names: Vec<String>,
    /// Only the program that needs no suite, in less than a minute
    #[arg(long)]
    small: bool,
    /// Pairs of profiles of equal builds; 3 if small
    #[arg(long)]
    pairs: Option<usize>,
    /// Runs of each build that are compared for the planted change
    #[arg(long, default_value_t = 3)]
    runs: usize,
}

/// Runs of each side in comparisons of groups.
const GROUP: usize = 4;

/// Checks each program.
///
/// # Errors
/// If a planted change is not named first, or a change is found where there is none.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let profiler = Profiler::build(root)?;
    let names: Vec<&str> = match (options.small, &options.names[..]) {
        (true, _) => vec!["planted"],
        (false, []) => vec!["bzip2", "lua", "sqlite"],
        (false, names) => names.iter().map(String::as_str).collect(),
    };
    let pairs = options.pairs.unwrap_or(if options.small { 3 } else { 20 });
    let mut wrong = Vec::new();
    for name in names {
        let program = Program::named(root, name)?;
        let folder = tempfile(root, name)?;
        let checked = check(&profiler, &program, &folder, options.runs, pairs);
        match checked {
            // What went wrong can be looked at.
            Err(error) => wrong.push(format!("{name} (profiles in {}): {error:#}", folder.display())),
            Ok(()) => std::fs::remove_dir_all(&folder)?,
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// A fresh folder for builds and profiles.
fn tempfile(root: &Path, name: &str) -> Result<PathBuf> {
    let work = suite::work_folder(root).unwrap_or_else(|_| crate::counter::target_folder(root));
    let folder = work.join(format!("diff-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

fn check(profiler: &Profiler, program: &Program, folder: &Path, runs: usize, pairs: usize) -> Result<()> {
    let base = program.build(&folder.join("base"), false)?;
    let again = program.build(&folder.join("again"), false)?;
    let planted = program.build(&folder.join("planted"), true)?;
    planted_is_first(profiler, program, (&base, &planted), runs)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        ours.push(profile(profiler, &base, &base.commands[1], &pair.to_string())?);
        theirs.push(profile(profiler, &again, &again.commands[1], &pair.to_string())?);
        no_alarm(profiler, &ours[pair..], &theirs[pair..])?;
    }
    let groups = ours.chunks(GROUP).zip(theirs.chunks(GROUP)).filter(|(ours, _)| ours.len() > 1);
    let mut compared = 0;
    for (ours, theirs) in groups {
        no_alarm(profiler, ours, theirs)?;
        compared += 1;
    }
    println!(
        "{:8} {pairs} pairs of equal builds, and {compared} of up to {GROUP} runs each: no alarm",
        program.name
    );
    Ok(())
}

fn profile(profiler: &Profiler, built: &Built, command: &str, name: &str) -> Result<PathBuf> {
    let file = built.folder.join(format!("{name}.tw"));
    profiler.run(&built.folder, command, &file)?;
    Ok(file)
}

fn planted_is_first(
    profiler: &Profiler,
    program: &Program,
    (base, planted): (&Built, &Built),
    runs: usize,
) -> Result<()> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for run in 0..runs {
        ours.push(profile(profiler, base, &base.commands[0], &format!("long-{run}"))?);
        theirs.push(profile(profiler, planted, &planted.commands[0], &format!("long-{run}"))?);
    }
    let first = |by: &str| -> Result<(Value, f64)> {
        let (mut document, _) = profiler.diff(&ours, &theirs, &["--by", by])?;
        let whole = document["whole"]["base_time"].as_f64().context("no time was sampled")?;
        Ok((document["rows"][0].take(), whole))
    };
    let (function, whole) = first("function")?;
    let percent = |field: &str| 100.0 * function[field].as_f64().unwrap_or(0.0) / whole;
    println!(
        "{:8} planted in {}: first is {}, time {:+.1} %, by count {:+.1} % ({:+.1} to {:+.1}), by cost {:+.1} %, instructions {} to {}",
        program.name,
        program.function,
        function["test_function"],
        percent("time"),
        percent("by_count"),
        percent("by_count_low"),
        percent("by_count_high"),
        percent("by_cost"),
        function["base_instructions"],
        function["test_instructions"],
    );
    let is_it = |row: &Value| row["test_function"] == program.function && row["finding"] == true;
    ensure!(is_it(&function), "by function, the first is {}", function["test_function"]);
    let (row, _) = first("loop")?;
    let number = |field: &str| row[field].as_u64().unwrap_or(0);
    let holds =
        planted.lines.clone().any(|line| (number("test_line")..=number("test_line_last")).contains(&line));
    ensure!(
        is_it(&row) && holds,
        "by loop, the first is {}-{} in {}",
        row["test_line"],
        row["test_line_last"],
        row["test_function"]
    );
    Ok(())
}

fn no_alarm(profiler: &Profiler, base: &[PathBuf], test: &[PathBuf]) -> Result<()> {
    for by in ["function", "loop", "line", "instruction"] {
        let (document, status) = profiler.diff(base, test, &["--by", by, "--fail-if", "time>2%"])?;
        ensure!(status == 0, "the gate failed on equal builds: {}", document["whole"]);
        let row = &document["rows"][0];
        ensure!(row["finding"] == false, "a finding by {by} in {} of equal builds: {row}", base[0].display());
    }
    Ok(())
}
