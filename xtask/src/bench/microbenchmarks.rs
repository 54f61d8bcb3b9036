//! `cargo xtask bench microbenchmarks`: loops of known latency and throughput, natively and in a modelled core.
//!
//! The loops of `suite/microbenchmarks` time themselves against a chain of dependent additions, so that the clock's
//! frequency does not matter. A core executes the same program twice, once with as many rounds again, and what the
//! second one takes longer is what those rounds take.

use super::table::Destination;
use crate::folder::Folder;
use crate::profiler::{NATIVE, Profiler};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Only loops whose names have this in them
    #[arg(default_value = "")]
    name: String,
    /// The core, by its name or file; native is that of this machine
    #[arg(long, default_value = NATIVE)]
    core: String,
    /// Most by which a core's own loop may differ from it, in per cent
    #[arg(long, default_value_t = 10.0)]
    most: f64,
    #[command(flatten)]
    into: Destination,
}

/// The table's name in a Markdown file, which that of the core follows.
const TABLE: &str = "microbenchmarks";

/// Times an addition of the fastest process that one of a process that counts may take: where it takes more, another
/// program had a part of the core, or the clock was lower. Those of quiet processes differ by less than a thousandth.
const SLOWEST: f64 = 1.002;

/// Likewise, of additions that do not wait for each other, which show a neighbour on the same core that a chain does not.
const FULLEST: f64 = 1.05;

/// Processes that are timed, and those among them that suffice once their core was their own.
const PROCESSES: [usize; 2] = [20, 5];

/// The status of a process beside which another program had a part of the core all the time.
const SHARED: i32 = 3;

/// A loop, as the program tells of it.
struct Loop {
    name: String,
    units: f64,
    /// Rounds that warm.
    warming: u64,
    /// It needs what the core shares with others, of which it gets now more, now less.
    leaves: bool,
}

/// Prints a row for each loop.
///
/// # Errors
/// If one cannot be timed or simulated, or one that does not leave the core differs by too much.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let folder = Folder::of(root, "microbenchmarks")?;
    let profiler = Profiler::build(root)?;
    let core = profiler.core(&options.core)?;
    let table = format!("{TABLE} {core}");
    options.into.check(&table)?;
    let bench =
        Bench { profiler, program: build(root, &folder)?, simulated: folder.join("simulated"), core: &core };
    let mut rows = vec![["loop", "natively", "modelled", "difference"].map(String::from)];
    let mut wrong = Vec::new();
    for one in bench.loops()?.into_iter().filter(|one| one.name.contains(&options.name)) {
        let (natively, modelled) = (bench.natively(&one)?, bench.modelled(&one)?);
        let percent = 100.0 * (modelled / natively - 1.0);
        let mark = if one.leaves { " (shared)" } else { "" };
        let row = [
            format!("{}{mark}", one.name),
            format!("{natively:.2}"),
            format!("{modelled:.2}"),
            format!("{percent:+.0} %"),
        ];
        println!("{}", row.join("  "));
        rows.push(row);
        if !one.leaves && percent.abs() > options.most {
            wrong.push(one.name);
        }
    }
    let caption = format!(
        "Cycles of a unit of each loop of `suite/microbenchmarks`, natively and on {}; what is shared with others on this \
         machine, its last level of cache and memory, is not judged",
        core
    );
    println!("{caption}");
    options.into.put(&table, &caption, &rows)?;
    ensure!(wrong.is_empty(), "over {} % from this machine: {}", options.most, wrong.join("; "));
    Ok(())
}

fn build(root: &Path, folder: &Path) -> Result<PathBuf> {
    let program = folder.join("loops");
    let mut compiler = Command::new("gcc");
    compiler.args(["-O2", "-g", "-mavx2", "-mfma", "-mno-red-zone", "-o"]).arg(&program);
    compiler.arg(root.join("suite/microbenchmarks/loops.c"));
    ensure!(compiler.status().context("gcc")?.success(), "the loops do not compile");
    Ok(program)
}

struct Bench<'a> {
    profiler: Profiler,
    program: PathBuf,
    simulated: PathBuf,
    core: &'a str,
}

impl Bench<'_> {
    fn loops(&self) -> Result<Vec<Loop>> {
        let output = Command::new(&self.program).output()?;
        let text = String::from_utf8(output.stdout)?;
        text.lines().map(|line| told(line).with_context(|| format!("a loop: {line}"))).collect()
    }

    /// Cycles of a unit, by the loop's own account: the lowest of several processes whose core was their own, because
    /// where their pages lie and on which processor they run may cost something, and never gives anything.
    fn natively(&self, one: &Loop) -> Result<f64> {
        let [most, enough] = PROCESSES;
        let mut timed = Vec::new();
        for _ in 0..most {
            let output = Command::new(&self.program).arg(&one.name).output()?;
            if output.status.code() == Some(SHARED) {
                continue;
            }
            ensure!(output.status.success(), "{}: {}", one.name, output.status);
            let said = String::from_utf8(output.stdout)?;
            timed.push(Timed::told(&said).with_context(|| format!("{}: {said}", one.name))?);
            if alone(&timed).count() >= enough {
                break;
            }
        }
        let cycles = alone(&timed).map(|one| one.cycles).reduce(f64::min);
        cycles.with_context(|| {
            format!(
                "{}: the core was shared all the time; try again when the machine has less to do",
                one.name
            )
        })
    }

    /// Cycles of a unit in the model.
    fn modelled(&self, one: &Loop) -> Result<f64> {
        let [warm, more] = [one.warming, 2 * one.warming].map(|rounds| {
            let rounds = rounds.to_string();
            let arguments = [&one.name[..], &rounds];
            self.profiler.modelled_cycles(
                self.core,
                &self.program,
                &arguments,
                Stdio::null(),
                &self.simulated,
            )
        });
        Ok((more? - warm?) / (one.warming as f64 * one.units))
    }
}

/// What a process says of a loop.
#[derive(Clone, Copy)]
struct Timed {
    /// Of a unit.
    cycles: f64,
    /// Nanoseconds of an addition of a chain beside it.
    addition: f64,
    /// Cycles of four additions that do not wait for each other.
    four: f64,
}

impl Timed {
    fn told(line: &str) -> Option<Timed> {
        let mut numbers = line.trim().split('\t').map(|number| number.parse().ok());
        let mut next = || numbers.next()?;
        Some(Timed { cycles: next()?, addition: next()?, four: next()? })
    }
}

/// Those beside which additions that do not wait were as fast as beside any, and a chain as beside any of these.
fn alone(timed: &[Timed]) -> impl Iterator<Item = &Timed> {
    let four = FULLEST * timed.iter().map(|one| one.four).fold(f64::INFINITY, f64::min);
    let full = move |one: &&Timed| one.four <= four;
    let addition = timed.iter().filter(full).map(|one| one.addition).fold(f64::INFINITY, f64::min);
    timed.iter().filter(full).filter(move |one| one.addition <= SLOWEST * addition)
}

fn told(line: &str) -> Option<Loop> {
    let mut fields = line.split('\t');
    let name = fields.next()?.to_string();
    let mut number = || fields.next()?.parse::<u64>().ok();
    Some(Loop { name, units: number()? as f64, warming: number()?, leaves: number()? != 0 })
}

#[cfg(test)]
mod tests {
    #[test]
    fn loops_are_told_by_name_and_numbers() {
        let one = super::told("two loads\t8\t300\t1").unwrap();
        assert_eq!((&*one.name, one.units, one.warming, one.leaves), ("two loads", 8.0, 300, true));
        assert!(super::told("two loads\t8").is_none());
    }

    #[test]
    fn a_process_with_a_part_of_the_core_does_not_count() {
        let said =
            ["21.0\t0.271\t0.68\n", "14.8\t0.384\t0.68\n", "20.9\t0.2712\t0.67\n", "17.0\t0.250\t1.3\n"];
        let timed = said.map(|line| super::Timed::told(line).unwrap());
        assert_eq!(super::alone(&timed).map(|one| one.cycles).collect::<Vec<_>>(), [21.0, 20.9]);
        assert!(super::Timed::told("21.0\t0.271").is_none());
    }
}
