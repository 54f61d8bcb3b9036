//! `cargo xtask check waste`: programs do the same without the instructions that `timewise waste` calls useless.
//!
//! Of each workload, the instructions of the program itself that could be left out in all of their executions are overwritten
//! in a copy, by others that do nothing: all of them, and then a half chosen at random, as each claim has to hold whichever of
//! the others come true. Output and exit status must stay what they are, and the copy executes each as often as was told.
//! So that this shows something, as many instructions, or 50, are overwritten in a third copy that nobody called useless:
//! that one must not do the same.

mod patch;

use crate::folder::Folder;
use crate::profiler::Profiler;
use crate::suite::{self, Executed, Size, Workload, execute};
use anyhow::{Context, Result, ensure};
use clap::Args;
use patch::Program;
use serde_json::Value;
use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use timewise_flow::Code;
use timewise_profile::{Offset, Profile};

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Workloads of one thread whose program is in the suite's own folder
    #[arg(default_values_t = ["bzip2-g", "lua-static", "gnugo-g", "shor-g", "nbody"].map(String::from))]
    names: Vec<String>,
    /// Size of the input
    #[arg(long, value_enum, default_value_t = Size::Test)]
    size: Size,
    /// Chooses the halves; not 0, from which no other number comes
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    seed: u64,
    /// Seconds after which a program counts as hung
    #[arg(long, default_value_t = 600)]
    limit: u32,
}

/// Kernels that are also compiled without and with optimisation, and what they are linked with.
const COMPILED: [&str; 2] = ["qsortdiv", "interp"];

/// So many instructions at least are overwritten that nobody called useless: a few may happen not to matter.
const LEAST_OTHERS: usize = 50;

/// By how much more is wasted, as a share, in what is compiled without optimisation.
const LEAST_RATIO: f64 = 2.0;

/// Prints a row for each program; what is wrong stands below.
///
/// # Errors
/// If a copy does something else, if what nobody called useless is not needed either, or if nothing could be left out of what
/// is compiled without optimisation.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let profiler = Profiler::build(root)?;
    super::fix_addresses()?;
    let scratch = Folder::of(root, "waste")?;
    let work = suite::work_folder(root)?;
    println!(
        "{:14} {:>14} {:>8} {:>10} {:>10} {:>7} {:>14} {:>6}",
        "program", "instructions", "wasted", "removable", "left out", "places", "executions", "needed"
    );
    let mut faults = Vec::new();
    let mut check = |subject: &Subject| -> Result<Found> {
        let found = subject.check(&profiler, options).with_context(|| subject.name.clone())?;
        found.faults.iter().for_each(|fault| println!("    {fault}"));
        faults.extend(found.faults.iter().map(|fault| format!("{}: {fault}", subject.name)));
        Ok(found)
    };
    for workload in suite::select(root, &options.names)? {
        let command = workload.command(options.size);
        let program = command.split(' ').next().context("an empty command")?;
        ensure!(program.starts_with("bin/"), "{}: the program is not the suite's own", workload.name);
        let program = work.join(program);
        check(&Subject { name: workload.name.clone(), workload, program, work: &work, scratch: &scratch })?;
    }
    let mut implausible = Vec::new();
    for workload in suite::select(root, &COMPILED.map(String::from))? {
        let mut levels = Vec::new();
        for level in ["-O0", "-O2"] {
            let name = format!("{}{level}", workload.name);
            let program = compile(root, &workload.name, level, &scratch)?;
            let workload = workload.clone();
            levels.push(check(&Subject { name, workload, program, work: &work, scratch: &scratch })?);
        }
        let [without, with] = [0, 1].map(|level| levels[level].share);
        // Where nothing is found at all, no ratio tells anything.
        if levels[0].places == 0 || without <= 0.0 {
            implausible.push(format!("{}: nothing to leave out without optimisation", workload.name));
        }
        if without < LEAST_RATIO * with {
            let shares = [without, with];
            implausible.push(format!("{}: {shares:.4?} wasted without and with optimisation", workload.name));
        }
    }
    faults.extend(implausible);
    println!(
        "\nwasted, removable: of the instructions; left out: of those of the program itself, by overwriting so many places, \
         so often; needed: as many others at random could not be left out"
    );
    ensure!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    Ok(())
}

fn compile(root: &Path, name: &str, level: &str, scratch: &Path) -> Result<PathBuf> {
    let program = scratch.join(format!("{name}{level}"));
    let compiled = Command::new("cc")
        .args(["-g", level, "-o"])
        .arg(&program)
        .arg(root.join(format!("suite/kernels/{name}.c")))
        .arg("-lm")
        .status()
        .context("cc")?;
    ensure!(compiled.success(), "{name} does not compile with {level}");
    Ok(program)
}

/// A program with its work.
struct Subject<'a> {
    name: String,
    workload: Workload,
    program: PathBuf,
    work: &'a Path,
    scratch: &'a Path,
}

/// What came of it.
struct Found {
    /// Of the executed instructions, wasted ones.
    share: f64,
    /// Instructions that were left out.
    places: usize,
    faults: Vec<String>,
}

/// An instruction of the program itself.
#[derive(Clone, Copy)]
struct Target {
    offset: u64,
    length: usize,
    executions: u64,
}

impl Subject<'_> {
    fn check(&self, profiler: &Profiler, options: &Options) -> Result<Found> {
        let profile = self.profile();
        // Always under one name, at one address: how often a string is compared byte by byte depends on where it lies.
        self.write(&[])?;
        let original = self.execute(&[], options)?;
        ensure!(
            original.status.code().is_some_and(|status| self.workload.is_success(status)),
            "{}",
            original.last_words()
        );
        let told = self.execute(&with(profiler, &["paths", "--all"], &profile), options)?;
        ensure!(told.output == original.output, "{}", told.last_words());
        let waste = waste(profiler, &profile)?;
        let targets = self.targets(&waste)?;
        let mut faults = Vec::new();
        let is_needed = match targets.is_empty() {
            true => None,
            false => Some(self.leave_out(profiler, options, &original, &waste, &targets, &mut faults)?),
        };
        let number = |field: &str| waste[field].as_u64().unwrap_or(0);
        let left_out: u64 = targets.iter().map(|target| target.executions).sum();
        let percent = |part: u64| 100.0 * part as f64 / number("executed") as f64;
        println!(
            "{:14} {:>14} {:>6.2} % {:>8.2} % {:>8.2} % {:>7} {:>14} {:>6}",
            self.name,
            number("executed"),
            percent(number("wasted")),
            percent(number("removable")),
            percent(left_out),
            targets.len(),
            left_out,
            is_needed.map_or("–", |is_needed| if is_needed { "yes" } else { "no" })
        );
        let share = number("wasted") as f64 / number("executed") as f64;
        Ok(Found { share, places: targets.len(), faults })
    }

    /// Overwrites instructions in copies, and gives whether as many others are needed.
    fn leave_out(
        &self,
        profiler: &Profiler,
        options: &Options,
        original: &Executed,
        waste: &Value,
        targets: &[Target],
        faults: &mut Vec<String>,
    ) -> Result<bool> {
        let mut random = Random(options.seed);
        let half: Vec<Target> = targets.iter().copied().filter(|_| random.next().is_multiple_of(2)).collect();
        for (chosen, which) in [(targets, "all"), (&half, "a half")] {
            self.write(chosen)?;
            let counted = self.scratch.join("copy.tw");
            for prefix in [vec![], with(profiler, &["count"], &counted)] {
                let without = self.execute(&prefix, options)?;
                if (without.status, &without.output) != (original.status, &original.output) {
                    faults.push(format!(
                        "without {which} of {} it does something else: {}",
                        chosen.len(),
                        without.status
                    ));
                }
            }
            faults.extend(miscounted(&Profile::load(&counted)?, &self.copy(), chosen));
        }
        let others = self.others(
            &Profile::load(&self.profile())?,
            waste,
            targets.len().max(LEAST_OTHERS),
            &mut random,
        );
        self.write(&others)?;
        let without = self.execute(&[], options)?;
        let is_needed = (without.status, &without.output) != (original.status, &original.output);
        if !is_needed {
            faults.push(format!("without {} instructions that are needed it does the same", others.len()));
        }
        Ok(is_needed)
    }

    fn copy(&self) -> PathBuf {
        self.scratch.join("copy")
    }

    fn profile(&self) -> PathBuf {
        self.scratch.join("profile.tw")
    }

    /// Runs the work with the copy in the place of its program.
    fn execute(&self, prefix: &[String], options: &Options) -> Result<Executed> {
        let quoted: Vec<String> = prefix.iter().map(|word| format!("'{word}'")).collect();
        // The first word is the program here, the second the one that the work names.
        let script = format!("own=$1; shift 2; exec {} \"$own\" \"$@\"", quoted.join(" "));
        let words = ["bash", "-c", &script, "bash", &self.copy().display().to_string()].map(String::from);
        execute(&self.workload, options.size, self.work, &words, options.limit)
    }

    /// What can be left out each time that it is executed.
    fn targets(&self, waste: &Value) -> Result<Vec<Target>> {
        let rows = waste["instructions"].as_array().context("no instructions")?;
        let copy = self.copy();
        let own = rows
            .iter()
            .filter(|row| row["module"].as_str() == copy.to_str() && row["removable"] == row["of"]);
        own.map(|row| {
            let number = |field: &str| row[field].as_u64().with_context(|| format!("no {field}"));
            Ok(Target {
                offset: number("offset")?,
                length: number("length")? as usize,
                executions: number("of")?,
            })
        })
        .collect()
    }

    /// So many instructions, at most, that were executed and are not wasted.
    fn others(&self, profile: &Profile, waste: &Value, count: usize, random: &mut Random) -> Vec<Target> {
        let rows = waste["instructions"].as_array().into_iter().flatten();
        let wasted: HashSet<u64> = rows.filter_map(|row| row["offset"].as_u64()).collect();
        let (code, copy) = (Code::new(profile), self.copy());
        let own = |instruction: &&timewise_flow::code::Instruction| {
            let block = &code.blocks[instruction.block.index()];
            let module = &profile.modules[block.place.module.index()];
            module.path == copy.as_os_str().as_encoded_bytes()
                && block.executions > 0
                && !wasted.contains(&instruction.step.offset)
        };
        let mut all: Vec<Target> = code
            .instructions
            .iter()
            .filter(own)
            .map(|instruction| Target {
                offset: instruction.step.offset,
                length: instruction.step.length.into(),
                executions: 0,
            })
            .collect();
        (0..count.min(all.len())).map(|_| all.swap_remove(random.next() as usize % all.len())).collect()
    }

    /// Makes the copy of the program, with some instructions overwritten.
    fn write(&self, targets: &[Target]) -> Result<()> {
        let copy = self.copy();
        let mut program = Program::new(std::fs::read(&self.program)?)?;
        targets.iter().try_for_each(|target| program.blank(target.offset, target.length))?;
        std::fs::write(&copy, program.into_bytes())?;
        Ok(std::fs::set_permissions(copy, std::fs::Permissions::from_mode(0o755))?)
    }
}

/// A command of `timewise` that runs what follows, and saves its profile.
fn with(profiler: &Profiler, words: &[&str], into: &Path) -> Vec<String> {
    let mut command = vec![profiler.program.display().to_string()];
    command.extend(words.iter().map(ToString::to_string));
    command.extend(["-q".into(), "-o".into(), into.display().to_string(), "--".into()]);
    command
}

/// What `timewise waste` says of a profile.
fn waste(profiler: &Profiler, profile: &Path) -> Result<Value> {
    let output =
        Command::new(&profiler.program).arg("waste").arg(profile).args(["--format", "json"]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Instructions of the copy that were not executed as often as was told of the original.
fn miscounted(profile: &Profile, copy: &Path, targets: &[Target]) -> Vec<String> {
    let code = Code::new(profile);
    let path = copy.as_os_str().as_encoded_bytes();
    let executions = |offset: u64| {
        let own = code.blocks.iter().filter(|block| {
            let module = &profile.modules[block.place.module.index()];
            module.path == path && block.place.offset <= Offset(offset) && Offset(offset) < block.end
        });
        own.map(|block| block.executions).sum::<u64>()
    };
    let differs = |target: &&Target| executions(target.offset) != target.executions;
    let fault = |target: &Target| {
        let (told, is) = (target.executions, executions(target.offset));
        format!("{:#x} is executed {is} times in the copy, not {told}", target.offset)
    };
    targets.iter().filter(differs).take(5).map(fault).collect()
}

/// Numbers that are the same each time (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }
}
