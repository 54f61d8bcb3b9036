//! `cargo xtask check lessons`: what the thesis learnt from programs of SPEC, in small programs of `suite/lessons`. The
//! modelled core blames the instruction that is at fault, profilers that are not time-proportional blame others, and
//! the version that follows from it is faster in the model and natively.

use super::native::in_turn;
use crate::folder::Folder;
use crate::profiler::Profiler;
use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Only in the model
    #[arg(long)]
    modelled: bool,
    /// Native runs of each version, in turn, six or more
    #[arg(long, default_value_t = 6)]
    natives: usize,
}

/// A program of `suite/lessons`; `FIXED` mends it.
struct Lesson {
    /// The program's source, without `.c`.
    source: &'static str,
    /// Arguments for the model, and for native runs.
    arguments: [&'static str; 2],
    core: &'static str,
    /// The function that the model is asked about.
    function: &'static str,
    blamed: Blamed,
    /// Profilers that are misled as to what is at fault.
    misled: &'static [&'static str],
    /// The category of the function's cycles that goes when the program is mended.
    goes: &'static str,
}

/// What is at fault: instructions of the function, and the component of their stacks.
struct Blamed {
    /// How they begin.
    text: &'static str,
    /// The event that they wait for, if it matters: one of them for the others.
    event: Option<&'static str>,
    /// The least part of the program's cycles.
    least: f64,
}

const LESSONS: [Lesson; 3] = [
    Lesson {
        source: "rounding",
        arguments: ["20", "1000"],
        core: "boom-4w-tip",
        function: "down",
        blamed: Blamed { text: "ldmxcsr", event: None, least: 0.3 },
        misled: &["NCI", "NCI+ILP", "Software"],
        goes: "misc_flush",
    },
    Lesson {
        source: "root",
        arguments: ["500", "6000"],
        core: "boom-4w-tea",
        function: "energy",
        blamed: Blamed { text: "sqrtsd", event: None, least: 0.15 },
        misled: &["LCI", "Dispatch", "Software"],
        goes: "misc_flush",
    },
    Lesson {
        source: "stream",
        arguments: ["25 2", "300 4"],
        core: "boom-4w-tea",
        function: "collide",
        blamed: Blamed { text: "", event: Some("ST-LLC"), least: 0.2 },
        misled: &["LCI", "Dispatch", "Software"],
        goes: "load_stall",
    },
];

/// The profilers that the thesis compares with its own.
const PROFILERS: [&str; 7] = ["TIP", "TIP-ILP", "NCI", "NCI+ILP", "LCI", "Dispatch", "Software"];

/// How far from the reference, as a part of what it has, TIP may be at most, and those that are misled are at least.
const NEAR: f64 = 0.03;
const FAR: f64 = 0.3;

/// The most that may be left of what goes.
const LEFT: f64 = 0.2;

/// Checks each lesson and prints what was found.
///
/// # Errors
/// If the model does not blame what is at fault, or mending it gains nothing.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let profiler = Profiler::build(root)?;
    let folder = Folder::of(root, "lessons")?;
    let mut wrong = Vec::new();
    for lesson in &LESSONS {
        println!("{}, {} on {}", lesson.source, lesson.function, lesson.core);
        if let Err(error) = lesson.check(root, &profiler, &folder, options) {
            println!("  {error:#}");
            wrong.push(lesson.source);
        }
    }
    ensure!(wrong.is_empty(), "went wrong: {}", wrong.join(" "));
    Ok(())
}

impl Lesson {
    fn check(&self, root: &Path, profiler: &Profiler, folder: &Path, options: &Options) -> Result<()> {
        let programs = [self.build(root, folder, false)?, self.build(root, folder, true)?];
        let [flawed, mended] = programs.each_ref().map(|program| self.simulate(profiler, program));
        let (flawed, mended) = (flawed?, mended?);
        self.is_blamed(&flawed)?;
        let stacks = [&flawed, &mended].map(|document| Stack::new(document, self.function));
        let [before, after] = stacks.map(|stack| stack.with_context(|| format!("no {}", self.function)));
        let (before, after) = (before?, after?);
        println!("  {}\n  {}", before.text(), after.text());
        let [slow, fast] = [&flawed, &mended].map(|document| document["cycles"].as_f64().unwrap_or(f64::NAN));
        println!("  modelled: {:.2} times as fast", slow / fast);
        ensure!(fast < slow, "the mended version is not faster in the model");
        ensure!(after.of(self.goes) < LEFT * before.of(self.goes), "its {} does not go", self.goes);
        if options.modelled {
            return Ok(());
        }
        let [first, second] =
            programs.map(|program| format!("'{}' {}", program.display(), self.arguments[1]));
        let ratio = in_turn((folder, &first), (folder, &second), options.natives)?;
        println!("  {ratio}: {:.2} times as fast", 1.0 / ratio.value);
        ensure!(ratio.high < 1.0, "the mended version is not certainly faster");
        Ok(())
    }

    /// The reference and TIP blame what is at fault, the misled do not.
    fn is_blamed(&self, document: &Value) -> Result<()> {
        let cycles = document["cycles"].as_f64().context("no cycles")?;
        let rows = document["by_instruction"].as_array().context("no instructions")?;
        let rows: Vec<&Value> = rows.iter().filter(|row| self.is_at_fault(row)).collect();
        let sum =
            |value: &dyn Fn(&Value) -> Option<f64>| rows.iter().filter_map(|row| value(row)).sum::<f64>();
        let reference = sum(&|row| row["cycles"].as_f64());
        let texts: Vec<&str> = rows.iter().filter_map(|row| row["text"].as_str()).collect();
        println!("  {}: {:.1} % of the cycles", texts.join(", "), 100.0 * reference / cycles);
        let found = PROFILERS.map(|name| (name, sum(&|row| row["sampled"][name].as_f64())));
        let told = found.map(|(name, found)| format!("{name} {:.1} %", 100.0 * found / cycles));
        println!("  {}", told.join(", "));
        ensure!(reference >= self.blamed.least * cycles, "that is too little");
        let costliest = rows.iter().filter_map(|row| row["cycles"].as_f64()).fold(0.0, f64::max);
        ensure!(
            self.blamed.event.is_none() || costliest > 0.8 * reference,
            "it is not one that hides the others"
        );
        for (name, found) in found {
            let error = (found - reference).abs() / reference;
            ensure!(name != "TIP" || error < NEAR, "TIP has {found} for {reference}");
            ensure!(!self.misled.contains(&name) || error > FAR, "{name} is not misled");
        }
        Ok(())
    }

    /// Whether most cycles of an instruction are of what is at fault.
    fn is_at_fault(&self, row: &Value) -> bool {
        let text = row["text"].as_str().unwrap_or_default();
        let most = &row["stack"][0]["events"];
        let is_subject =
            |event: &str| most.as_array().is_some_and(|events| events.iter().any(|known| known == event));
        row["function"] == self.function
            && text.starts_with(self.blamed.text)
            && row["stack"][0]["state"] != "computing"
            && self.blamed.event.is_none_or(is_subject)
    }

    fn build(&self, root: &Path, folder: &Path, is_mended: bool) -> Result<PathBuf> {
        let name = if is_mended { format!("{}-mended", self.source) } else { self.source.to_string() };
        let program = folder.join(name);
        let mut compiler = Command::new("gcc");
        compiler.args(["-O2", "-g", "-Wall", "-Wextra"]).args(is_mended.then_some("-DFIXED"));
        compiler
            .arg("-o")
            .arg(&program)
            .arg(root.join(format!("suite/lessons/{}.c", self.source)))
            .arg("-lm");
        ensure!(compiler.status().context("gcc")?.success(), "{} does not compile", self.source);
        Ok(program)
    }

    /// What the core makes of all of the program, and what profilers that sample make of that.
    fn simulate(&self, profiler: &Profiler, program: &Path) -> Result<Value> {
        let file = program.with_extension("json");
        let output = Command::new(&profiler.program)
            .args(["simulate", "-q", "--compare-profilers", "--random", "--period", "31"])
            .args(["--instructions", "0", "--core", self.core, "-o"])
            .arg(program.with_extension("tw"))
            .arg("--json")
            .arg(&file)
            .arg("--")
            .arg(program)
            .args(self.arguments[0].split(' '))
            .stdout(Stdio::null())
            .output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(serde_json::from_str(&std::fs::read_to_string(file)?)?)
    }
}

/// A function's cycle stack.
struct Stack {
    cycles: f64,
    categories: Vec<(String, f64)>,
}

impl Stack {
    fn new(document: &Value, function: &str) -> Option<Stack> {
        let rows = document["functions"].as_array()?;
        let row = rows.iter().find(|row| row["function"] == function)?;
        let categories = row["categories"].as_object()?.iter();
        let categories = categories.map(|(name, cycles)| Some((name.clone(), cycles.as_f64()?)));
        Some(Stack { cycles: row["cycles"].as_f64()?, categories: categories.collect::<Option<_>>()? })
    }

    fn of(&self, category: &str) -> f64 {
        self.categories.iter().find(|(name, _)| name == category).map_or(f64::NAN, |(_, cycles)| *cycles)
    }

    fn text(&self) -> String {
        let parts = self.categories.iter().filter(|(_, cycles)| *cycles >= 0.005 * self.cycles);
        let parts = parts.map(|(name, cycles)| format!("{name} {:.2}", cycles / 1e6));
        format!("{:.2} million cycles: {}", self.cycles / 1e6, parts.collect::<Vec<_>>().join(", "))
    }
}
