//! `cargo xtask check cases`: programs with a known flaw and the same programs with the flaw mended. The hint
//! names the instruction, `diff` names the function and explains the gain, and the gain is measured natively.

use crate::bench::median;
use crate::counter::target_folder;
use crate::profiler::Profiler;
use crate::usage::wait_with_usage;
use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Profiles of each version
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Native runs of each version, in turn
    #[arg(long, default_value_t = 5)]
    natives: usize,
}

/// A flaw in a program of `suite/cases`.
struct Case {
    /// The program's source, without `.c`.
    source: &'static str,
    arguments: &'static str,
    hints: &'static [Expected],
    /// The function whose time must have become less, first of all.
    gains: &'static str,
}

/// A hint that must be given for the flawed version, and must not be for the mended one.
struct Expected {
    kind: &'static str,
    function: &'static str,
    /// How the instruction begins.
    text: &'static str,
}

const CASES: [Case; 4] = [
    Case {
        source: "comparator",
        arguments: "100 100",
        hints: &[Expected { kind: "costly-branch", function: "compare", text: "j" }],
        gains: "compare",
    },
    Case {
        source: "units",
        arguments: "100 150 1000",
        hints: &[Expected { kind: "division", function: "compare", text: "div" }],
        gains: "compare",
    },
    Case {
        source: "probe",
        arguments: "1000 256 300",
        hints: &[Expected { kind: "slow-load", function: "probe", text: "mov" }],
        gains: "probe",
    },
    Case {
        source: "invariant",
        arguments: "4 20000",
        hints: &[Expected { kind: "division", function: "step", text: "div" }],
        gains: "step",
    },
];

/// Checks each case and prints what was found.
///
/// # Errors
/// If a hint is missing, or the gain is not found.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let profiler = Profiler::build(root)?;
    let folder = target_folder(root).join("cases");
    std::fs::create_dir_all(&folder)?;
    let mut wrong = Vec::new();
    for case in &CASES {
        println!("{}", case.source);
        if let Err(error) = case.check(root, &profiler, &folder, options) {
            println!("  {error:#}");
            wrong.push(case.source);
        }
    }
    ensure!(wrong.is_empty(), "went wrong: {}", wrong.join(" "));
    Ok(())
}

impl Case {
    fn check(&self, root: &Path, profiler: &Profiler, folder: &Path, options: &Options) -> Result<()> {
        let flawed = self.build(root, folder, false)?;
        let mended = self.build(root, folder, true)?;
        let before = self.profiles(profiler, &flawed, options.runs)?;
        let after = self.profiles(profiler, &mended, options.runs)?;
        for (profile, is_flawed) in [(&before[0], true), (&after[0], false)] {
            let report = profiler.report(profile)?;
            let hints = report["hints"].as_array().context("a report without hints")?;
            for expected in self.hints {
                let found = hints.iter().find(|hint| expected.is(hint));
                match (found, is_flawed) {
                    (Some(hint), true) => {
                        println!("  hint: {}", hint["sentence"].as_str().unwrap_or_default())
                    }
                    (None, false) => {}
                    (None, true) => {
                        anyhow::bail!("no hint {} in {}: {hints:?}", expected.kind, expected.function)
                    }
                    (Some(hint), false) => anyhow::bail!("the mended version has it too: {hint}"),
                }
            }
        }
        let (document, _) = profiler.diff(&before, &after, &[])?;
        let whole = document["whole"]["base_time"].as_f64().context("no time was sampled")?;
        let percent = |row: &Value, field: &str| 100.0 * row[field].as_f64().unwrap_or(0.0) / whole;
        for row in document["rows"].as_array().into_iter().flatten().filter(|row| row["finding"] == true) {
            println!(
                "  diff: {} {:+.1} % = by count {:+.1} % + by cost {:+.1} %",
                row["test_function"].as_str().or(row["base_function"].as_str()).unwrap_or_default(),
                percent(row, "time"),
                percent(row, "by_count"),
                percent(row, "by_cost")
            );
        }
        let first = &document["rows"][0];
        ensure!(
            first["finding"] == true && first["base_function"] == self.gains,
            "diff names first: {first}"
        );
        ensure!(first["time_certain"].as_f64() < Some(0.0), "no certain gain: {first}");
        println!("  diff: the program {:+.1} %", percent(&document["whole"], "time"));
        let (flawed_s, mended_s) = self.native(&flawed, &mended, options.natives)?;
        println!(
            "  natively: {flawed_s:.3} s to {mended_s:.3} s, {:.2} times as fast (median user time of {})",
            flawed_s / mended_s,
            options.natives
        );
        ensure!(mended_s < flawed_s, "the mended version is not faster");
        Ok(())
    }

    fn build(&self, root: &Path, folder: &Path, is_mended: bool) -> Result<PathBuf> {
        let name = if is_mended { format!("{}-mended", self.source) } else { self.source.to_string() };
        let program = folder.join(name);
        let mut compiler = Command::new("gcc");
        compiler.args(["-O2", "-g", "-Wall", "-Wextra"]).args(is_mended.then_some("-DFIXED"));
        compiler.arg("-o").arg(&program).arg(root.join(format!("suite/cases/{}.c", self.source)));
        ensure!(compiler.status().context("gcc")?.success(), "{} does not compile", self.source);
        Ok(program)
    }

    fn profiles(&self, profiler: &Profiler, program: &Path, runs: usize) -> Result<Vec<PathBuf>> {
        let profile = |run: usize| {
            let file = program.with_extension(format!("{run}.tw"));
            let command = format!("'{}' {}", program.display(), self.arguments);
            profiler.run(Path::new("."), &command, &file)?;
            Ok(file)
        };
        (0..runs).map(profile).collect()
    }

    /// Median user time of each version, seconds.
    fn native(&self, flawed: &Path, mended: &Path, runs: usize) -> Result<(f64, f64)> {
        let once = |program: &Path| -> Result<f64> {
            let mut command = Command::new(program);
            command.args(self.arguments.split(' ')).stdout(Stdio::null());
            Ok(wait_with_usage(command.spawn()?)?.user.as_secs_f64())
        };
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            before.push(once(flawed)?);
            after.push(once(mended)?);
        }
        Ok((median(&before), median(&after)))
    }
}

impl Expected {
    fn is(&self, hint: &Value) -> bool {
        let text = hint["text"].as_str().unwrap_or_default();
        hint["kind"] == self.kind && hint["function"] == self.function && text.starts_with(self.text)
    }
}
