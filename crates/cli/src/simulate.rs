//! `timewise simulate`: where the program's cycles go on a modelled core, and why.

use crate::arguments::Program;
use crate::screen::{self, Colour};
use crate::talk::{self, say};
use crate::{recording, symbolise};
use anyhow::Context;
use std::collections::BTreeMap;
use std::io::stderr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use timewise_attribution::comparison::Findings;
use timewise_attribution::event_counts::EventCounts;
use timewise_attribution::policy::TimeProportional;
use timewise_attribution::{Comparison, Profiler, Schedule, Stacks};
use timewise_core_model::{Code, Processor, Simulation, Totals};
use timewise_engine::Options;
use timewise_engine::streams::{Places, Windows};
use timewise_flow::{Analysis, InstructionId};
use timewise_profile::{Exit, Offset, Place, Profile};
use timewise_replay::Replay;
use timewise_report::number::{count, figure};
use timewise_report::simulated::{self, Simulated};
use timewise_target::launch::Stopped;
use timewise_trace::{Doctor, Recorder, Room, Seat};

/// Run a program on a modelled core: where its cycles go and why, without performance counters
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise simulate -- ./app input
  timewise simulate --core boom-4w-tip --skip 1000000000 -- ./app < data
  timewise simulate --instructions 1000000 --windows 50 --skip 20000000 -- ./app
  timewise simulate --compare-profilers -- ./app
  timewise simulate --format json -o cycles.json -- ./app

What the program executes is fed to the core model, instruction by instruction; its cycles are
those of the model, not of this processor. The same execution gives the same figures. Each thread
has a core of its own, with caches of its own; a system call takes a fixed time. docs/simulate.md
says what is modelled, docs/cycle-stacks.md what is made of it. The exit status is the program's;
125 if timewise fails, 126 if the program cannot be executed, 127 if there is none.")]
pub struct Arguments {
    /// The core: one of those that are known by name, or a file that describes it
    #[arg(long, value_name = "NAME|FILE", default_value = "raptor-cove")]
    core: PathBuf,
    /// Instructions of each thread to simulate, or of each window; 0 for all
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    instructions: u64,
    /// Instructions of each thread to let pass before, or before each window
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u64,
    /// Windows of each thread
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    windows: u32,
    /// Also tell how far profilers that sample would be from the truth
    #[arg(long)]
    compare_profilers: bool,
    /// Cycles between their samples
    #[arg(long, value_name = "CYCLES", default_value_t = 1000, requires = "compare_profilers",
          value_parser = clap::value_parser!(u64).range(1..))]
    period: u64,
    /// Take each sample at a random cycle of its period rather than at the last
    #[arg(long, requires = "compare_profilers")]
    random: bool,
    /// In which form
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Where to write it [default: text to standard error, JSON to standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// When to use colours
    #[arg(long, visible_alias = "colour", value_enum, default_value_t, value_name = "WHEN")]
    color: Colour,
    /// Say nothing but what is wrong and what was asked for
    #[arg(short = 'q', long)]
    quiet: bool,
    #[command(flatten)]
    program: Program,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
enum Format {
    /// Tables for people
    #[default]
    Text,
    /// JSON, schema timewise-simulate/1
    Json,
}

/// What looks at the commit stage of each thread's core.
type Watch = (Option<Profiler<TimeProportional>>, (Option<Comparison>, EventCounts));

/// What a simulation leaves behind.
struct Done {
    threads: Vec<(Watch, Totals)>,
    code: Code,
    places: Places,
    elapsed: Duration,
}

/// Runs the command, to the end of the program.
pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    if arguments.quiet {
        talk::be_quiet();
    }
    let processor = processor(&arguments.core)?;
    let mut done = None;
    let mut profile = recording::record(arguments.program.launch(), |stopped| {
        let (profile, simulated) = simulate(stopped, &processor, arguments)?;
        done = Some(simulated);
        Ok::<_, anyhow::Error>(profile)
    })?;
    let exit = profile.runs[0].exit;
    let unknown = symbolise::symbolise(&mut profile);
    profile.runs[0].warnings.extend(unknown);
    if let Some(done) = done {
        say(recording::with_warnings(speed(&done), &profile.runs[0]));
        tell(&profile, &processor, &done, arguments)?;
    }
    Ok(exit)
}

/// The processor of a name, or of a file.
fn processor(core: &Path) -> anyhow::Result<Processor> {
    let name = core.to_str().filter(|name| timewise_core_model::names().any(|known| known == *name));
    if let Some(name) = name {
        return Ok(Processor::named(name)?);
    }
    let text = std::fs::read_to_string(core).with_context(|| {
        let known: Vec<&str> = timewise_core_model::names().collect();
        format!(
            "'{}' is neither a known core ({}) nor a file that can be read",
            core.display(),
            known.join(", ")
        )
    })?;
    Processor::parse(&text).with_context(|| format!("'{}' does not describe a core", core.display()))
}

/// Runs the program, and beside it a core for each of its threads.
fn simulate(
    stopped: Stopped,
    processor: &Processor,
    arguments: &Arguments,
) -> anyhow::Result<(Profile, Done)> {
    let began = Instant::now();
    let mut seats: BTreeMap<usize, Seat<Watch>> = BTreeMap::new();
    let mut simulation = Simulation::new(processor, |stream| {
        let mut doctor = Doctor::new(Room::default());
        seats.insert(stream, doctor.attach(watch(arguments)));
        Recorder::new(doctor)
    })?;
    let mut replay = Replay::new(true);
    let mut failure = None;
    let options = Options { calls: false, ..Options::default() };
    let (counted, is_whole) = timewise_engine::stream(stopped, &options, windows(arguments), |chunk| {
        if failure.is_none() {
            failure = simulation.chunk(&mut replay, chunk).err();
        }
    })?;
    let (cores, code) = simulation.finish();
    let elapsed = began.elapsed();
    let mut threads = Vec::new();
    for (stream, recorder, totals) in cores {
        recorder.finish();
        threads.extend(seats.remove(&stream).map(|seat| (seat.join(), totals)));
    }
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    let mut profile = counted.profile;
    if !is_whole {
        profile.runs[0].warnings.push("some of what was executed was not simulated".to_string());
    }
    Ok((profile, Done { threads, code, places: counted.places, elapsed }))
}

fn windows(arguments: &Arguments) -> Windows {
    let length = if arguments.instructions == 0 { u64::MAX } else { arguments.instructions };
    Windows { skip: arguments.skip, length, windows: arguments.windows, memory: true }
}

/// Seed of random samples: any would do, but the same program shall give the same figures.
const SEED: u64 = 1;

fn watch(arguments: &Arguments) -> Watch {
    let schedule = match arguments.random {
        true => Schedule::random(arguments.period, SEED),
        false => Schedule::periodic(arguments.period),
    };
    let compared = arguments.compare_profilers.then(|| Comparison::new(schedule));
    let alone = (!arguments.compare_profilers).then(Profiler::oracle);
    (alone, (compared, EventCounts::default()))
}

/// Joins what was found with the program's code, and tells it as was asked for.
fn tell(profile: &Profile, processor: &Processor, done: &Done, arguments: &Arguments) -> anyhow::Result<()> {
    let analysis = Analysis::new(profile, None);
    let ids: Vec<Option<InstructionId>> = (0..done.code.len() as u32)
        .map(|instruction| {
            let origin = done.code.origin(instruction);
            let block = done.places.place(origin.image, origin.block)?;
            let offset = Offset(block.offset.0 + u64::from(origin.offset));
            analysis.code.instruction_at(Place { offset, ..block })
        })
        .collect();
    let number = |instruction: u32| ids.get(instruction as usize).copied().flatten().map(|id| id.0);
    let (mut stacks, mut compared) = (Stacks::default(), None::<Findings>);
    let mut executions = vec![0; analysis.code.instructions.len()];
    let (mut instructions, mut cycles) = (0, 0);
    for ((alone, (comparison, counts)), totals) in &done.threads {
        instructions += totals.instructions;
        cycles += totals.cycles;
        if let Some(profiler) = alone {
            stacks.merge(&profiler.stacks().renumbered(number));
        }
        if let Some(comparison) = comparison {
            let findings = comparison.findings().renumbered(number);
            stacks.merge(&findings.reference);
            match &mut compared {
                Some(all) => all.merge(&findings),
                None => compared = Some(findings),
            }
        }
        for (instruction, id) in (0..).zip(&ids) {
            if let Some(id) = id {
                executions[id.index()] += counts.executed(instruction);
            }
        }
    }
    let simulated = Simulated {
        analysis: &analysis,
        run: &profile.runs[0],
        core: &processor.name,
        part: part(arguments),
        threads: done.threads.len(),
        instructions,
        cycles,
        executions: &executions,
        stacks: &stacks,
        compared: compared.as_ref(),
    };
    print(&simulated, arguments)
}

/// The part of each thread's execution that was simulated, in words.
fn part(arguments: &Arguments) -> Option<String> {
    let Arguments { instructions, skip, windows, .. } = arguments;
    let length = match instructions {
        0 => "the rest".to_string(),
        instructions => format!("at most {} instructions", count(*instructions)),
    };
    match (instructions, skip, windows) {
        (0, 0, _) => None,
        (_, 0, 1) => Some(format!("of each thread {length} from its start")),
        (_, skip, 1) => Some(format!("of each thread {length} after the first {}", count(*skip))),
        (_, skip, windows) => Some(format!(
            "of each thread {windows} windows of {length}, each after {} that pass",
            count(*skip)
        )),
    }
}

fn print(simulated: &Simulated, arguments: &Arguments) -> anyhow::Result<()> {
    let style = match &arguments.output {
        None => screen::style(&stderr(), arguments.color),
        Some(_) => screen::file_style(arguments.color),
    };
    let text = match arguments.format {
        Format::Text => simulated::text(simulated, style),
        Format::Json => simulated::json(simulated)?,
    };
    match (&arguments.output, arguments.format) {
        (Some(path), _) => std::fs::write(path, text)
            .with_context(|| format!("cannot write '{}'; choose another place", path.display())),
        (None, Format::Json) => screen::show(&text),
        (None, Format::Text) => {
            say(text.trim_end());
            Ok(())
        }
    }
}

/// How fast it went.
fn speed(done: &Done) -> String {
    let instructions: u64 = done.threads.iter().map(|(_, totals)| totals.instructions).sum();
    let seconds = done.elapsed.as_secs_f64();
    let rate = instructions as f64 / 1e6 / seconds.max(1e-9);
    format!("simulated in {seconds:.2} s: {} million instructions a second", figure(rate))
}
