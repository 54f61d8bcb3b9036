//! What LLVM's tools say of our branches, from traces and from counts: one branch that is not the program's, and BOLT
//! leaves the whole function as it was. And what they make of programs by them.

mod rebuilt;
mod said;
mod script;

use self::said::Said;
use super::attempts::ATTEMPTS;
use super::branches::subject::{self, Subject};
use crate::folder::Folder;
use crate::profiler::Profiler;
use crate::suite::Size;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use timewise_profile::{Place, Profile};

/// How long a program may run, recording included, of which no branches are seen.
const BRIEF: Duration = Duration::from_secs(1);

/// Programs of the suite that have symbols.
const CHECKED: [&str; 28] = [
    "bzip2-g",
    "gnugo-g",
    "lua-g",
    "lua-static",
    "shor-g",
    "rustbench",
    "gobench",
    "fig1",
    "lbm",
    "mcf",
    "triad",
    "qsortdiv",
    "interp",
    "interp-goto",
    "interp-static",
    "interp-nopie",
    "nbody",
    "bwaves",
    "events",
    "except",
    "timer",
    "threads-pool",
    "threads-churn",
    "threads-spin",
    "threads-false",
    "forks",
    "plugins",
    "smc",
];

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Workloads of the suite
    names: Vec<String>,
    /// Only some kernels of the suite, compiled here, and `timewise fdo` with two of them: half a minute
    #[arg(long, conflicts_with = "names")]
    small: bool,
    /// Traces per second
    #[arg(short = 'F', long, default_value_t = 2000)]
    frequency: u32,
    /// Branches of a trace
    #[arg(long, default_value_t = 500)]
    length: u32,
    /// Which input
    #[arg(long, value_enum, default_value_t = Size::Test)]
    size: Size,
    /// Seconds after which a program counts as hung
    #[arg(long, default_value_t = 300)]
    limit: u32,
}

/// Prints two rows for each program: of its traces, and of its counts.
///
/// # Errors
/// If a tool finds fault with traces that it does not find with counts, or is not there.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let llvm = llvm()?;
    let timewise = Profiler::build(root)?.program;
    let scratch = Folder::of(root, "fdo")?;
    let subjects = match (options.small, options.names.is_empty()) {
        (true, _) => subject::small(root, &scratch)?,
        (_, true) => subject::workloads(root, &CHECKED.map(String::from), options.size, options.limit)?,
        _ => subject::workloads(root, &options.names, options.size, options.limit)?,
    };
    println!("{:14} {:7} {}", "program", "from", Said::TITLES);
    let tools = Tools { llvm, timewise, scratch };
    let (frequency, length) = (options.frequency.to_string(), options.length.to_string());
    let mut bad = Vec::new();
    for subject in subjects {
        let counted = tools.ask(&subject, &["count", "--no-calls"])?.context("nothing was counted")?;
        let trace = || tools.ask(&subject, &["branches", "-F", &frequency, "--length", &length]);
        let mut traced = trace()?;
        for _ in 1..ATTEMPTS {
            if traced.as_ref().is_none_or(|traced| traced.may_be_unlucky(&counted)) {
                traced = trace()?;
            }
        }
        let Some(traced) = traced else {
            println!("{:14} traces  none: it is over too soon", subject.name());
            continue;
        };
        for (from, said) in [("traces", &traced), ("counts", &counted)] {
            println!("{:14} {from:7} {said}", subject.name());
            for line in said.given_up.iter().take(5) {
                println!("               {line}");
            }
        }
        if traced.blames_more_than(&counted) {
            bad.push(subject.name().to_string());
        }
    }
    if options.small {
        rebuilt::check(root, &tools.timewise, &tools.llvm, &tools.scratch)?;
    }
    ensure!(bad.is_empty(), "LLVM's tools find fault with the traces of {}", bad.join(" "));
    Ok(())
}

/// The folder of LLVM's tools, of the newest version that is installed whole.
pub fn llvm() -> Result<PathBuf> {
    let folder = |version: u32| PathBuf::from(format!("/usr/lib/llvm-{version}/bin"));
    let has_all = |folder: &PathBuf| {
        ["perf2bolt", "llvm-bolt", "llvm-profgen", "clang"].iter().all(|tool| folder.join(tool).is_file())
    };
    (14..=30)
        .rev()
        .map(folder)
        .find(has_all)
        .context("no BOLT with Clang and llvm-profgen; run scripts/setup-debian fdo")
}

/// What asking takes.
struct Tools {
    llvm: PathBuf,
    timewise: PathBuf,
    scratch: Folder,
}

impl Tools {
    /// What LLVM's tools say of a program's branches as a command of `timewise` records them; nothing if it saw none of
    /// the program's own, which is allowed of one that is over soon.
    fn ask(&self, subject: &Subject, command: &[&str]) -> Result<Option<Said>> {
        let place = |name: &str| self.scratch.join(name);
        let recorded = place("recorded.tw");
        let words =
            [&[&*self.timewise.to_string_lossy()], command, &["-o", &recorded.to_string_lossy(), "--"]];
        let words: Vec<String> = words.concat().into_iter().map(String::from).collect();
        // A command that has nothing to save leaves a former file as it was.
        let _ = std::fs::remove_file(&recorded);
        let began = Instant::now();
        subject.execute(&words)?;
        let took = began.elapsed();
        let none = || {
            ensure!(took < BRIEF, "{}: none of its own branches in {took:.1?}", subject.name());
            Ok(None)
        };
        if !recorded.is_file() {
            return none();
        }
        let profile = Profile::load(&recorded)?;
        let binary = profile.processes.first().context("a profile without a process")?.executable.clone();
        let is_within = |place: &Place| profile.modules[place.module.index()].path == binary;
        let traced = &profile.taken_branches;
        if !traced.is_empty() && !traced.iter().any(|branch| is_within(&branch.from) && is_within(&branch.to))
        {
            return none();
        }
        let binary = Path::new(OsStr::from_bytes(&binary));
        let export = |format: &str| -> Result<PathBuf> {
            let file = place(format);
            let mut export = Command::new(&self.timewise);
            said_by(export.args(["export", "--to", format, "-o"]).args([&file, &recorded]))?;
            Ok(file)
        };
        let (aggregated, unsymbolized) = (export("bolt-preaggregated")?, export("llvm-profgen")?);
        let (fdata, script, output) = (place("profile.fdata"), place("script"), place("output"));
        let samples = script::of(&std::fs::read_to_string(&unsymbolized)?, binary)?;
        std::fs::write(&script, &samples)?;
        let mut convert = Command::new(self.llvm.join("perf2bolt"));
        let convert = convert.arg("-pa").arg("-p").args([&aggregated, binary]).arg("-o").arg(&fdata);
        let mut bolt = Command::new(self.llvm.join("llvm-bolt"));
        let bolt = bolt.arg(binary).arg("-data").arg(&fdata).arg("-o").arg(&output);
        let bolt = bolt.args(["-reorder-blocks=ext-tsp", "-split-functions"]);
        let option = |name: &str, file: &Path| format!("--{name}={}", file.display());
        // Straight code that was counted is in blocks, of which many do not end with a branch.
        // And of branches without any, as in a loop of one instruction and a jump, llvm-profgen makes nothing.
        let sampled = match profile.taken_branches.is_empty() || samples.lines().count() < 2 {
            true => String::new(),
            false => {
                let mut profgen = Command::new(self.llvm.join("llvm-profgen"));
                said_by(profgen.args([
                    option("perfscript", &script),
                    option("binary", binary),
                    option("output", &output),
                ]))?
            }
        };
        // BOLT may give up a program, for what it is rather than for its profile.
        let said = [said_by(convert)?, said_by(bolt).unwrap_or_else(|why| format!("{why:#}")), sampled];
        for file in [&recorded, &aggregated, &unsymbolized, &fdata, &script, &output] {
            let _ = std::fs::remove_file(file);
        }
        Ok(Some(Said::new(&said)))
    }
}

/// All that a tool writes, which must succeed.
fn said_by(command: &mut Command) -> Result<String> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let done = command.output().with_context(|| tool.clone())?;
    let text = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "{tool}: {}: {}", done.status, text.lines().last().unwrap_or_default());
    Ok(text.into_owned())
}
