//! A table of how much faster programs get by branches that were traced, and by all branches counted: what a perfect
//! profile would gain.
//!
//! Each program is built with Clang's own decisions, with a profile from counts, and with one from traces; and linked
//! for BOLT, and laid out by it with either. The three of each tool run in turns, so that what the machine does besides
//! concerns all alike, and must write the same. Where their times differ by less than the machine's noise, cycles of a
//! short run on a modelled core tell, which have none. What a run does once is a tenth of so short a run, and nothing of
//! one that is worth making faster, nor do traces of one meet it: it is taken off. Counts are the same in each training
//! run; traces are not, and what a compiler makes of two runs of a second may differ by a good part of its gain: each program
//! is trained several times, and medians stand for it.

mod programs;

use self::programs::{FOR_BOLT, FOR_CLANG, PROGRAMS, Program, Run};
use super::statistics::{geomean, median, median_interval};
use super::table::Destination;
use crate::check::llvm;
use crate::folder::Folder;
use crate::profiler::{NATIVE, Profiler};
use crate::suite;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use timewise_export as export;
use timewise_fdo::compare::in_turns;
use timewise_fdo::{bolt, clang};
use timewise_profile::Profile;

/// What to measure, and how.
#[derive(Args)]
pub struct Options {
    /// Programs; all if none is named
    names: Vec<String>,
    /// Training runs with traces, each of which makes a program of its own
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(3..))]
    trainings: u32,
    /// Rounds of each training in which the programs run in turns
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..))]
    rounds: u32,
    /// Traces per second
    #[arg(short = 'F', long, default_value_t = 1000)]
    frequency: u32,
    /// Branches of a trace
    #[arg(long, default_value_t = 1000)]
    length: u32,
    /// The modelled core, by its name or file; native is that of this machine
    #[arg(long, default_value = NATIVE)]
    core: String,
    #[command(flatten)]
    into: Destination,
}

/// The table's name in a Markdown file, and its columns.
const TABLE: &str = "speed-ups";
const COLUMNS: [&str; 9] = [
    "program",
    "tool",
    "native s",
    "by counts",
    "by traces",
    "share",
    "modelled, by counts",
    "modelled, by traces",
    "its share",
];

/// Which tool makes a program faster.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tool {
    Clang,
    Bolt,
}

/// What a program takes as it was, by counts, and by traces of one training run or another.
struct Runs {
    /// CPU seconds, round by round of all trainings.
    seconds: Vec<[f64; 3]>,
    /// How many times as fast as native it is by counts on the modelled core, in a short run less its start.
    by_counts: f64,
    /// The same by the traces of each training.
    by_traces: Vec<f64>,
}

/// Prints a row for each program and tool, then means.
///
/// # Errors
/// If a program cannot be built or profiled, or what was made of it writes something else.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    // Before a quarter of an hour's work that it would be for.
    options.into.check(TABLE)?;
    let profiler = Profiler::build(root)?;
    let core = profiler.core(&options.core)?;
    let bench = Bench {
        root: root.to_path_buf(),
        profiler,
        work: suite::work_folder(root)?,
        llvm: llvm()?,
        scratch: Folder::of(root, "fdo-bench")?,
        frequency: options.frequency.to_string(),
        length: options.length.to_string(),
        trainings: options.trainings,
        rounds: options.rounds as usize,
        core,
    };
    std::env::set_current_dir(&bench.work)?;
    let wanted =
        |program: &&Program| options.names.is_empty() || options.names.iter().any(|n| n == program.name);
    let programs: Vec<&Program> = PROGRAMS.iter().filter(wanted).collect();
    ensure!(!programs.is_empty(), "there are {}", PROGRAMS.map(|program| program.name).join(" "));
    let mut rows = vec![COLUMNS.map(String::from).to_vec()];
    print(&rows[0]);
    let mut gains = Vec::new();
    for program in programs {
        for tool in [Tool::Clang, Tool::Bolt] {
            let runs = bench.measure(program, tool).with_context(|| program.name)?;
            rows.push(runs.row(program, tool));
            print(&rows[rows.len() - 1]);
            let medians = [1, 2].map(|which| median(&runs.gains(which)));
            gains.push((tool, [medians, runs.modelled()]));
        }
    }
    for tool in [Tool::Clang, Tool::Bolt] {
        let mean = |by: usize, which: usize| {
            let of_tool = gains.iter().filter(|row| row.0 == tool);
            geomean(&of_tool.map(|(_, gains)| gains[by][which]).collect::<Vec<f64>>())
        };
        let [medians, modelled] = [0, 1].map(|by| [0, 1].map(|which| mean(by, which)));
        let head = ["geometric mean", tool.word(), ""].map(String::from);
        let [by_time, modelled] =
            [medians, modelled].map(|gains| [&gains.map(times)[..], &[share(gains)]].concat());
        rows.push([&head[..], &by_time, &modelled].concat());
        print(&rows[rows.len() - 1]);
    }
    let caption = format!(
        "Speed-up by counts and by traces (`-F {} --length {}`), of {} training runs each: medians of {} rounds of CPU \
         time each, with intervals in which the true median lies with a probability of 95 %, and which share of what \
         counts gain traces do; the same by the cycles of a short run on the modelled core {}, less those of its start, \
         which have no noise: the median of trainings, the lowest and the highest",
        options.frequency, options.length, options.trainings, options.rounds, bench.core
    );
    options.into.put(TABLE, &caption, &rows)
}

/// What measuring takes.
struct Bench {
    root: PathBuf,
    profiler: Profiler,
    work: PathBuf,
    llvm: PathBuf,
    scratch: Folder,
    frequency: String,
    length: String,
    trainings: u32,
    rounds: usize,
    core: String,
}

impl Bench {
    /// Makes the programs that a tool makes by both profiles, and runs them in turns.
    fn measure(&self, program: &Program, tool: Tool) -> Result<Runs> {
        let flags = match tool {
            Tool::Clang => FOR_CLANG,
            Tool::Bolt => FOR_BOLT,
        };
        let build = program.build(&self.root, &self.work, &self.llvm, flags);
        let [native, by_counts, by_traces] =
            ["native", "counts", "traces"].map(|name| self.place(program, name));
        clang::build(&build, &native, None)?;
        let make = |command: &[&str], made: &Path| -> Result<()> {
            let profile = self.profile(program, &native, command)?;
            self.optimise(program, tool, &build, &profile, made)
        };
        make(&["count", "--no-calls"], &by_counts)?;
        let arguments: Vec<OsString> = program.arguments.iter().map(OsString::from).collect();
        let programs = [&native, &by_counts, &by_traces].map(PathBuf::as_path);
        let cycles = self.modelled(program, &native)?;
        let mut runs = Runs {
            seconds: vec![],
            by_counts: cycles / self.modelled(program, &by_counts)?,
            by_traces: vec![],
        };
        for _ in 0..self.trainings {
            make(&["branches", "-F", &self.frequency, "--length", &self.length], &by_traces)?;
            let input = program.input.map(File::open).transpose()?;
            runs.seconds.extend(in_turns(programs, &arguments, input.as_ref(), self.rounds, || true)?);
            runs.by_traces.push(cycles / self.modelled(program, &by_traces)?);
        }
        Ok(runs)
    }

    /// Makes a program by a profile of the native one.
    fn optimise(
        &self,
        program: &Program,
        tool: Tool,
        build: &str,
        profile: &Profile,
        made: &Path,
    ) -> Result<()> {
        let native = self.place(program, "native");
        let module = export::traced::first_executable(profile);
        match tool {
            Tool::Clang => {
                let samples = self.place(program, "prof");
                clang::sample_profile(&native, &export::llvm_profgen::export(profile, module), &samples)?;
                clang::build(build, made, Some(&samples))?;
            }
            Tool::Bolt => {
                bolt::optimise(&native, &export::bolt::export(profile, module, &[]), made)?;
            }
        }
        Ok(())
    }

    /// Where a program's file of that name is.
    fn place(&self, program: &Program, name: &str) -> PathBuf {
        self.scratch.join(format!("{}.{name}", program.name))
    }

    /// Cycles of a short run of a program on the modelled core, beyond those of its start.
    fn modelled(&self, program: &Program, file: &Path) -> Result<f64> {
        Ok(self.cycles(program.short, file)? - self.cycles(program.start, file)?)
    }

    /// Cycles of a run of a program.
    fn cycles(&self, (arguments, text): Run, file: &Path) -> Result<f64> {
        let input = self.scratch.join("input");
        std::fs::write(&input, text)?;
        let simulated = self.scratch.join("simulated");
        self.profiler.modelled_cycles(&self.core, file, arguments, File::open(&input)?.into(), &simulated)
    }

    /// Profiles a run of a program.
    fn profile(&self, program: &Program, file: &Path, command: &[&str]) -> Result<Profile> {
        let recorded = self.scratch.join("recorded.tw");
        let mut timewise = Command::new(&self.profiler.program);
        timewise.args(command).arg("-o").arg(&recorded).arg("--").arg(file).args(program.arguments);
        if let Some(input) = program.input {
            timewise.stdin(File::open(input)?);
        }
        let done = timewise.output().context("timewise")?;
        ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let profile = Profile::load(&recorded)?;
        std::fs::remove_file(&recorded)?;
        Ok(profile)
    }
}

impl Runs {
    /// How many times as fast as native, round by round.
    fn gains(&self, which: usize) -> Vec<f64> {
        self.seconds.iter().map(|round| round[0] / round[which]).collect()
    }

    /// The same on the modelled core, by counts and by traces.
    fn modelled(&self) -> [f64; 2] {
        [self.by_counts, median(&self.by_traces)]
    }

    fn row(&self, program: &Program, tool: Tool) -> Vec<String> {
        let natives: Vec<f64> = self.seconds.iter().map(|round| round[0]).collect();
        let cell = |which: usize| {
            let gains = self.gains(which);
            let (low, high) = median_interval(&gains).unwrap_or((f64::NAN, f64::NAN));
            format!("{} ({low:.3} to {high:.3})", times(median(&gains)))
        };
        let modelled = self.modelled();
        let [low, high] = [f64::min, f64::max]
            .map(|choose| self.by_traces.iter().copied().reduce(choose).expect("at least three trainings"));
        let by_traces = format!("{} ({low:.3} to {high:.3})", times(modelled[1]));
        let head = [program.name.to_string(), tool.word().to_string(), format!("{:.2}", median(&natives))];
        let by_time = share([1, 2].map(|which| median(&self.gains(which))));
        [&head[..], &[1, 2].map(cell), &[by_time, times(modelled[0]), by_traces, share(modelled)]].concat()
    }
}

impl Tool {
    fn word(self) -> &'static str {
        match self {
            Tool::Clang => "Clang",
            Tool::Bolt => "BOLT",
        }
    }
}

fn times(speed_up: f64) -> String {
    format!("{speed_up:.3}x")
}

/// How much of the first gain the second is, if there is one to speak of.
fn share([of, gain]: [f64; 2]) -> String {
    const LEAST: f64 = 1.01;
    if of < LEAST { "–".to_string() } else { format!("{:.0} %", 100.0 * (gain - 1.0) / (of - 1.0)) }
}

fn print(row: &[String]) {
    let [name, tool, native, by_counts, by_traces, share, modelled_counts, modelled_traces, its_share] = row
    else {
        return;
    };
    println!(
        "{name:14} {tool:6} {native:>9}  {by_counts:24} {by_traces:24} {share:>6} {modelled_counts:>20} \
         {modelled_traces:>24} {its_share:>9}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_gains() {
        assert_eq!([share([1.2, 1.19]), share([1.1, 0.95]), share([1.005, 1.3])], ["95 %", "-50 %", "–"]);
    }
}
