//! `cargo xtask check cases`: programs with a known flaw and the same programs with the flaw mended. The hint
//! names the instruction, `diff` names the function and explains the gain, and the gain is measured natively.

use super::attempts::{ATTEMPTS, attempt};
use super::changes::Changes;
use super::native::in_turn;
use crate::folder::Folder;
use crate::profiler::Profiler;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Only hints, in one short run of each version
    #[arg(long)]
    small: bool,
    /// Profiles of each version; 3, or 1 if small
    #[arg(long)]
    runs: Option<usize>,
    /// Native runs of each version, in turn, six or more
    #[arg(long, default_value_t = 6)]
    natives: usize,
}

/// A flaw in a program of `suite/cases`.
struct Case {
    /// The program's source, without `.c`.
    source: &'static str,
    arguments: &'static str,
    /// Arguments for a run of a few tenths of a second.
    small: &'static str,
    hint: Expected,
    /// The function whose time must have become less, first of all.
    gains: &'static str,
    /// Whether it gains `by_count` or `by_cost`.
    by: &'static str,
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
        arguments: "100 50",
        small: "100 25",
        hint: Expected { kind: "costly-branch", function: "compare", text: "j" },
        gains: "compare",
        by: "by_cost",
    },
    Case {
        source: "units",
        arguments: "100 80 1000",
        small: "100 40 1000",
        hint: Expected { kind: "division", function: "compare", text: "div" },
        gains: "compare",
        by: "by_count",
    },
    Case {
        source: "probe",
        arguments: "500 256 300",
        small: "250 256 300",
        hint: Expected { kind: "slow-load", function: "probe", text: "mov" },
        gains: "probe",
        by: "by_cost",
    },
    Case {
        source: "invariant",
        arguments: "4 10000",
        small: "4 5000",
        hint: Expected { kind: "division", function: "step", text: "div" },
        gains: "step",
        by: "by_count",
    },
];

/// Checks each case and prints what was found.
///
/// # Errors
/// If a hint is missing, or the gain is not found.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let profiler = Profiler::build(root)?;
    let folder = Folder::of(root, "cases")?;
    let mut wrong = Vec::new();
    for case in &CASES {
        println!("{}", case.source);
        // One short run of each version says little on a machine that is busy with something else.
        let most = if options.small { ATTEMPTS } else { 1 };
        if let Err(error) = attempt(most, || case.check(root, &profiler, &folder, options)) {
            println!("  {error:#}");
            wrong.push(case.source);
        }
    }
    ensure!(wrong.is_empty(), "went wrong: {}", wrong.join(" "));
    Ok(())
}

impl Case {
    /// Whether all is found that must be, if what is needed for it could be done.
    fn check(
        &self,
        root: &Path,
        profiler: &Profiler,
        folder: &Path,
        options: &Options,
    ) -> Result<Result<()>> {
        let flawed = self.build(root, folder, false)?;
        let mended = self.build(root, folder, true)?;
        let arguments = if options.small { self.small } else { self.arguments };
        let runs = options.runs.unwrap_or(if options.small { 1 } else { 3 });
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for run in 0..runs {
            before.push(profile(profiler, &flawed, arguments, run)?);
            after.push(profile(profiler, &mended, arguments, run)?);
        }
        let found = self.is_hinted_at(profiler, &before[0], &after[0]);
        if options.small {
            // One run on each side cannot tell dearer code from a slower machine.
            return Ok(found);
        }
        let found = found.and_then(|()| self.is_explained(profiler, &before, &after));
        let native = |program: &Path| format!("'{}' {arguments}", program.display());
        let (first, second) = (native(&flawed), native(&mended));
        let ratio = in_turn((folder, &first), (folder, &second), options.natives)?;
        println!("  {ratio}: {:.2} times as fast", 1.0 / ratio.value);
        ensure!(ratio.high < 1.0, "the mended version is not certainly faster");
        Ok(found)
    }

    /// The hint is given for the flawed version, in the report and beside the instruction, and not for the
    /// mended one.
    fn is_hinted_at(&self, profiler: &Profiler, flawed: &Path, mended: &Path) -> Result<()> {
        let of = |profile: &Path| -> Result<Option<Value>> {
            let report = profiler.report(profile)?;
            let hints = report["hints"].as_array().context("a report without hints")?;
            Ok(hints.iter().find(|hint| self.hint.is(hint)).cloned())
        };
        let Some(hint) = of(flawed)? else { bail!("no hint {} in {}", self.hint.kind, self.hint.function) };
        let sentence = hint["sentence"].as_str().unwrap_or_default();
        println!("  hint: {sentence}");
        let listing = profiler.annotate(flawed, self.hint.function)?;
        ensure!(
            one_line(&listing).contains(&one_line(sentence)),
            "annotate does not have the hint:\n{listing}"
        );
        if let Some(hint) = of(mended)? {
            bail!("the mended version has it too: {hint}");
        }
        Ok(())
    }

    /// The function that gains is named first, and it is certain by what it gains.
    fn is_explained(&self, profiler: &Profiler, before: &[PathBuf], after: &[PathBuf]) -> Result<()> {
        let changes = Changes::between(profiler, before, after, &[])?;
        for row in changes.findings() {
            println!("  diff: {} {row}", row.name("function"));
        }
        println!("  diff: the program {}", changes.whole());
        let first = changes.first();
        ensure!(
            first.is_finding() && first.name("function") == self.gains,
            "diff does not name {} first",
            self.gains
        );
        ensure!(first.certain(self.by) < 0.0, "no certain gain {}: {first}", self.by);
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
}

fn profile(profiler: &Profiler, program: &Path, arguments: &str, run: usize) -> Result<PathBuf> {
    let file = program.with_extension(format!("{run}.tw"));
    let command = format!("'{}' {arguments}", program.display());
    profiler.run(Path::new("."), &command, &file)?;
    Ok(file)
}

/// Text without what wrapping has done to it, and without the arrows beside it.
fn one_line(text: &str) -> String {
    let is_between = |letter: char| letter.is_whitespace() || ('\u{2500}'..='\u{257f}').contains(&letter);
    text.split(is_between).filter(|word| !word.is_empty()).collect::<Vec<&str>>().join(" ")
}

impl Expected {
    fn is(&self, hint: &Value) -> bool {
        let text = hint["text"].as_str().unwrap_or_default();
        hint["kind"] == self.kind && hint["function"] == self.function && text.starts_with(self.text)
    }
}
