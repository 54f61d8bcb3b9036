//! `cargo xtask bench builds`: whether a modelled core tells which of two builds of a program is faster.
//!
//! Kernels of the suite are built by two compilers at several levels of optimisation, and programs with a known flaw with
//! and without it. Two builds run natively in turn; where one is faster for certain, and by more than a few per cent, the
//! model should say the same one.

use super::samples::{Sampler, Windows, wait_for_a_line};
use super::table::Destination;
use crate::check::{llvm, native::in_turn};
use crate::folder::Folder;
use crate::profiler::NATIVE;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What to measure, and how.
#[derive(Args)]
pub struct Options {
    /// Only programs whose names have this in them
    #[arg(default_value = "")]
    name: String,
    /// The core, by its name or file; native is that of this machine
    #[arg(long, default_value = NATIVE)]
    core: String,
    /// Windows of each build that are simulated
    #[arg(long, default_value_t = 40)]
    windows: u64,
    /// Instructions before each window that warm caches and predictors
    #[arg(long, default_value_t = 2_000_000)]
    warming: u64,
    /// Pairs of native runs, six or more
    #[arg(long, default_value_t = 9)]
    natives: usize,
    /// Differences of fewer per cent natively are not judged
    #[arg(long, default_value_t = 3.0)]
    least: f64,
    /// When all is simulated, wait for a line on standard input: from then on the machine should do nothing else
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    into: Destination,
}

/// The table's name in a Markdown file, and its columns.
const TABLE: &str = "builds";
const COLUMNS: [&str; 6] = ["program", "from", "to", "natively", "modelled", "the same way"];

/// Instructions of a window that is simulated.
const WINDOW: u64 = 250_000;

/// A program, and how it is built.
struct Program {
    /// Its source, in `suite/`.
    source: &'static str,
    arguments: &'static str,
    builds: &'static [&'static str],
}

/// A kernel is built each of these ways, and each is compared with the one before.
const LEVELS: &[&str] = &["gcc -O1", "gcc -O2", "gcc -O3 -march=x86-64-v3", "clang -O2", "clang -O1"];
const MENDED: &[&str] = &["gcc -O2", "gcc -O2 -DFIXED"];

const fn kernel(source: &'static str, arguments: &'static str) -> Program {
    Program { source, arguments, builds: LEVELS }
}

const fn flawed(source: &'static str, arguments: &'static str) -> Program {
    Program { source, arguments, builds: MENDED }
}

const PROGRAMS: [Program; 16] = [
    kernel("kernels/lbm.c", "200 60"),
    kernel("kernels/mcf.c", "8000 6 6"),
    kernel("kernels/triad.c", "100 3000"),
    kernel("kernels/qsortdiv.c", "300"),
    kernel("kernels/interp.c", "0 20"),
    kernel("kernels/nbody.c", "14 25"),
    kernel("kernels/events.cc", "100"),
    kernel("kernels/fig1.c", "500000 128"),
    kernel("kernels/except.cc", "50"),
    flawed("lessons/rounding.c", "500"),
    flawed("lessons/root.c", "9000"),
    flawed("lessons/stream.c", "80 4"),
    flawed("cases/comparator.c", "30 40"),
    flawed("cases/units.c", "60 80 100"),
    flawed("cases/probe.c", "200 256 100"),
    flawed("cases/invariant.c", "2 5000"),
];

/// Prints a row for each two builds.
///
/// # Errors
/// If a program cannot be built, run or simulated.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    options.into.check(TABLE)?;
    let folder = Folder::of(root, "builds")?;
    let windows = Windows { count: options.windows, length: WINDOW, warming: options.warming };
    let bench = Bench { sampler: Sampler::build(root, &options.core, windows)?, root, folder, options };
    let programs = PROGRAMS.iter().filter(|program| program.source.contains(&options.name));
    let modelled: Vec<Vec<Built>> = programs.map(|program| bench.builds(program)).collect::<Result<_>>()?;
    if options.wait {
        wait_for_a_line()?;
    }
    let mut rows = vec![COLUMNS.map(String::from)];
    let (mut judged, mut right) = (0, 0);
    for pair in modelled.iter().flat_map(|builds| builds.windows(2)) {
        let compared = bench.compare([&pair[0], &pair[1]])?;
        judged += u32::from(compared.right.is_some());
        right += u32::from(compared.right == Some(true));
        println!("{}", compared.row.join("  "));
        rows.push(compared.row);
    }
    let caption = format!(
        "Time of the second of two builds against the first, natively (median of {} pairs of runs, with limits of 95 %) and \
         on {}, each sampled {} times; of {judged} pairs that differ for certain and by more than {} % natively the model has \
         {right} the same way",
        options.natives,
        bench.sampler.core(),
        options.windows,
        options.least
    );
    println!("{caption}");
    options.into.put(TABLE, &caption, &rows)
}

struct Bench<'a> {
    sampler: Sampler,
    root: &'a Path,
    folder: Folder,
    options: &'a Options,
}

/// A build of a program.
struct Built {
    name: String,
    how: &'static str,
    file: PathBuf,
    arguments: &'static str,
    /// What it takes on the core.
    cycles: f64,
}

/// Two builds compared.
struct Compared {
    row: [String; COLUMNS.len()],
    /// Whether the model goes the same way, if that is judged.
    right: Option<bool>,
}

impl Bench<'_> {
    /// Builds and simulates a program in all its ways.
    fn builds(&self, program: &Program) -> Result<Vec<Built>> {
        let name = Path::new(program.source).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let one = |(number, &how): (usize, &&'static str)| {
            let file = self.folder.join(format!("{name}-{number}"));
            self.build(program, how, &file)?;
            let cycles = self.modelled(&file, program.arguments)?;
            eprintln!("{name}, {how}: {:.1} million cycles on {}", cycles / 1e6, self.sampler.core());
            Ok(Built { name: name.clone(), how, file, arguments: program.arguments, cycles })
        };
        program.builds.iter().enumerate().map(one).collect()
    }

    /// Times two builds in turn.
    fn compare(&self, builds: [&Built; 2]) -> Result<Compared> {
        let modelled = builds[1].cycles / builds[0].cycles;
        let commands = builds.map(|built| format!("'{}' {}", built.file.display(), built.arguments));
        let [first, second] = commands.each_ref().map(|command| (&*self.folder, &**command));
        let natively = in_turn(first, second, self.options.natives)?;
        let differs = natively.high < 1.0 || natively.low > 1.0;
        let is_judged = differs && (natively.value - 1.0).abs() > self.options.least / 100.0;
        let right = is_judged.then_some((natively.value < 1.0) == (modelled < 1.0));
        let percent = |ratio: f64| format!("{:+.1}", 100.0 * (ratio - 1.0));
        let [from, to] = builds.map(|built| built.how.to_string());
        let limits = format!(
            "{} % ({} to {})",
            percent(natively.value),
            percent(natively.low),
            percent(natively.high)
        );
        let told = match right {
            Some(true) => "yes",
            Some(false) => "no",
            None => "not judged",
        };
        let row =
            [builds[0].name.clone(), from, to, limits, format!("{} %", percent(modelled)), told.to_string()];
        Ok(Compared { row, right })
    }

    /// Builds a program by a compiler's name and its flags.
    fn build(&self, program: &Program, how: &str, built: &Path) -> Result<()> {
        let (compiler, flags) = how.split_once(' ').context("flags")?;
        let plus = program.source.ends_with(".cc");
        let mut command = match compiler {
            "clang" => Command::new(llvm()?.join(if plus { "clang++" } else { "clang" })),
            _ => Command::new(if plus { "g++" } else { "gcc" }),
        };
        command.args(flags.split(' ')).args(["-g", "-w", "-o"]).arg(built);
        command.arg(self.root.join("suite").join(program.source)).arg("-lm");
        let status = command.status().with_context(|| format!("{command:?}"))?;
        ensure!(status.success(), "{} does not compile with {how}", program.source);
        Ok(())
    }

    /// Cycles of a program on the core.
    fn modelled(&self, program: &Path, arguments: &str) -> Result<f64> {
        let sampled = self.sampler.sample(|prefix| {
            let words: Vec<&str> = arguments.split(' ').collect();
            let mut command = Command::new(&prefix[0]);
            command.args(&prefix[1..]).arg(program).args(words).stdout(Stdio::null());
            let output = command.output().with_context(|| prefix[0].clone())?;
            Ok(String::from_utf8_lossy(&output.stderr).into_owned())
        })?;
        Ok(sampled.instructions * sampled.cycles_per_instruction)
    }
}
