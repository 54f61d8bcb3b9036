//! `timewise simulate`: where the program's cycles go on a modelled core, and why.

mod cores;
mod kept;
mod traced;
mod watch;

use crate::arguments::{DEFAULT_FILE, Output};
use crate::numbers::parse_number;
use crate::screen::{self, Colour};
use crate::talk::{complain, say};
use crate::{destination, reading, recording, symbolise};
use anyhow::{Context, anyhow, ensure};
use cores::{Done, simulate};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, stderr};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use timewise_attribution::Schedule;
use timewise_attribution::comparison::Findings;
use timewise_attribution::event_counts::EventCounts;
use timewise_core_model::Processor;
use timewise_flow::Analysis;
use timewise_profile::{Exit, Profile, Run, SimulatedPart};
use timewise_report::number::{figure, percent, quantity};
use timewise_report::simulated::{self, Simulated};
use timewise_report::visible::visible;
use timewise_target::launch::Launch;
use timewise_target::machine;
use traced::{Tracing, When};

/// Run a program on a modelled core: where its cycles go and why, without performance counters
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise simulate -- ./app input
  timewise report                           the same again, and lines; --by, --format json or csv
  timewise simulate --core boom-4w-tip --skip 1000000000 -- ./app < data
  timewise simulate --instructions 1M --skip 20M --windows all -- ./app
  timewise simulate profile.tw              repeat the recorded command, and add what a core makes of it
  timewise simulate --compare-profilers -- ./app
  timewise simulate --trace trace.csv --from 0x401136 --to cycle:100000 -- ./app

What the program executes is fed to the core model, instruction by instruction; its cycles are
those of the model, not of this processor. It is loaded at the same addresses each time, and the same
execution gives the same figures. Each thread has a core of its own, with caches of its own; a system
call takes a fixed time. docs/simulate.md says what is modelled, docs/cycle-stacks.md what is made of
it. The exit status is the program's; 125 if timewise fails, 126 if the program cannot be executed,
127 if there is none.")]
pub struct Arguments {
    /// The core: one of those that are known by name, "native" for that of this machine, or a file that describes it
    #[arg(long, value_name = "NAME|FILE", default_value = "raptor-cove")]
    core: PathBuf,
    /// Instructions of each thread to simulate, or of each window; 0 for all
    #[arg(long, value_name = "N", default_value = "100M", value_parser = parse_number)]
    instructions: u64,
    /// Instructions of each thread to let pass before, or before each window; the last 4 million of them warm
    /// caches and predictors
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_number)]
    skip: u64,
    /// Windows of each thread, or "all": as many as it has
    #[arg(long, value_name = "K|all", default_value = "1")]
    windows: Number,
    /// Also tell how far profilers that sample would be from the truth
    #[arg(long)]
    compare_profilers: bool,
    /// Cycles between their samples
    #[arg(long, value_name = "CYCLES", default_value_t = 1000, requires = "compare_profilers",
          value_parser = clap::value_parser!(u64).range(1..=u64::MAX))]
    period: u64,
    /// Take each sample at a random cycle of its period rather than at the last
    #[arg(long, requires = "compare_profilers")]
    random: bool,
    /// Where to save the profile; a former file is kept with .old added [default: profile.tw, or the profile
    /// that is repeated]
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write all that was found as JSON, schema timewise-simulate/1
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also write what the commit stage of each core does, cycle by cycle: as bytes, or as a table if the name ends
    /// in .csv; FILE is of the first core, FILE with a number of each further one (docs/cycle-stacks.md)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Where each core's trace begins: cycle:N, instruction:N (when N have committed), or an address (when the
    /// instruction there first commits)
    #[arg(long, value_name = "WHEN", requires = "trace")]
    from: Option<When>,
    /// Where it ends, likewise, counted from its beginning on
    #[arg(long, value_name = "WHEN", requires = "trace")]
    to: Option<When>,
    /// When to use colours
    #[arg(long, visible_alias = "colour", value_enum, default_value_t, value_name = "WHEN")]
    color: Colour,
    /// Say nothing but what is wrong
    #[arg(short = 'q', long)]
    quiet: bool,
    /// A profile whose command is repeated
    #[arg(conflicts_with = "command")]
    profile: Option<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// How many windows, where it is not as many as there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Number(Option<u32>);

impl FromStr for Number {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Number, &'static str> {
        let number = match text {
            "all" => Some(None),
            number => number.parse().ok().filter(|&number| number > 0).map(Some),
        };
        number.map(Number).ok_or("give a number of windows, or all")
    }
}

/// Seed of random samples: any would do, but the same program shall give the same figures.
const SEED: u64 = 1;

/// The least share of the cycles in what waits for other threads that a warning tells.
const WAITING: f64 = 0.05;

/// Bytes that are read of a file that describes a core: a hundred times what those have that are known by name.
const MOST_OF_A_CORE: u64 = 1 << 20;

impl Arguments {
    fn part(&self) -> SimulatedPart {
        let length = Some(self.instructions).filter(|&length| length > 0);
        SimulatedPart { skipped: self.skip, length, windows: self.windows.0 }
    }

    fn schedule(&self) -> Option<Schedule> {
        self.compare_profilers.then(|| match self.random {
            true => Schedule::random(self.period, SEED),
            false => Schedule::periodic(self.period),
        })
    }

    /// The whole path of a file that is written beside the profile, if it can be and is no profile that is needed.
    fn beside(&self, output: &Path, file: Option<&PathBuf>) -> anyhow::Result<Option<PathBuf>> {
        let Some(path) = file.map(std::path::absolute).transpose()? else { return Ok(None) };
        destination::check(&path)?;
        destination::spare(output, &path)?;
        self.profile.iter().try_for_each(|profile| destination::spare(profile, &path))?;
        Ok(Some(path))
    }
}

/// Runs the command, to the end of the program.
pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    ensure!(
        arguments.instructions > 0 || arguments.windows == Number(Some(1)),
        "--windows needs --instructions of each: with 0 the first window is all the rest"
    );
    let named = arguments.output.as_ref().or(arguments.profile.as_ref());
    let named = named.map_or(Path::new(DEFAULT_FILE), PathBuf::as_path);
    let output = Output::new(std::path::absolute(named)?, arguments.quiet);
    output.begin()?;
    let json = arguments.beside(&output.path, arguments.json.as_ref())?;
    let trace = arguments.beside(&output.path, arguments.trace.as_ref())?;
    let others = [Some(&output.path), arguments.profile.as_ref(), json.as_ref()];
    let others: Vec<PathBuf> = others.into_iter().flatten().cloned().collect();
    let tracing = trace.map(|path| Tracing::new(path, arguments.from, arguments.to, others));
    let mut tracing = tracing.transpose()?;
    let processor = processor(&arguments.core)?;
    let repeated = arguments.profile.as_deref().map(recorded).transpose()?;
    let launch = match &repeated {
        Some(profile) => again(profile)?,
        None => the_program(&arguments.command)?,
    };
    let schedule = arguments.schedule();
    let mut done = None;
    let mut profile = recording::record(launch, |stopped| {
        let (profile, simulated) =
            simulate(stopped, &processor, arguments.part(), schedule.as_ref(), tracing.as_mut())?;
        done = Some(simulated);
        Ok::<_, anyhow::Error>(profile)
    })?;
    let exit = profile.runs[0].exit;
    let Some(done) = done else { return Ok(exit) };
    kept::add(&mut profile, &done, &processor, arguments.part());
    let unknown = symbolise::symbolise(&mut profile);
    profile.runs[0].warnings.extend(unknown);
    let analysis = Analysis::new(&profile, None);
    let warning = match done.totals() {
        (0, _) => {
            let executed = quantity(analysis.whole().instructions, "instruction");
            Some(format!("the program ended after {executed}, before the part to simulate"))
        }
        (_, cycles) => waits(analysis.modelled_pauses().cycles().as_cycles() / cycles as f64),
    };
    profile.runs[0].warnings.extend(warning);
    let whole = repeated.map(|mut whole| {
        let changed = kept::join(&mut whole, profile.clone());
        profile.runs[0].warnings.extend(changed);
        whole
    });
    if done.totals().0 > 0 {
        say(speed(&done));
    }
    recording::save(whole.as_ref().unwrap_or(&profile), &output.path)?;
    let told = tell(&profile, &done, arguments.color, json.as_deref());
    say(format_args!("saved as {}", visible(&named.to_string_lossy())));
    // One file that cannot be written is no reason to be without the others, or not to hear of them.
    match tracing.map_or(Ok(()), |tracing| tracing.finish(&done, &profile)) {
        Err(error) if told.is_err() => complain(format_args!("{error:#}")),
        traced => traced?,
    }
    told.map(|()| exit)
}

/// A warning where a notable share of the cycles is in what waits for other threads.
fn waits(share: f64) -> Option<String> {
    (share >= WAITING).then(|| {
        format!(
            "{} of the modelled cycles are in loops with pause, which wait for other threads: how often they go \
             round follows from how slowly these were while they were simulated",
            percent(share)
        )
    })
}

/// The profile of that name.
fn recorded(path: &Path) -> anyhow::Result<Profile> {
    let is_program = path.metadata().is_ok_and(|about| about.is_file() && about.mode() & 0o111 != 0);
    reading::load_with_waits(path).map_err(|error| match is_program {
        true => anyhow!("'{}' is no profile; what is to be simulated stands behind --", path.display()),
        false => error,
    })
}

/// How to launch a program so that it executes the same each time, as far as that is in our hands.
fn the_program(command: &[OsString]) -> anyhow::Result<Launch> {
    let (program, arguments) = command
        .split_first()
        .context("there is nothing to simulate: give -- PROGRAM, or the profile whose command is to be repeated; see --help")?;
    Ok(Launch { arguments: arguments.to_vec(), randomise_addresses: false, ..Launch::new(program.clone()) })
}

/// The recorded command once more, where it ran before.
fn again(profile: &Profile) -> anyhow::Result<Launch> {
    let run = &profile.runs[0];
    ensure!(!run.command.is_empty(), "the profile does not say which command it is of");
    ensure!(
        !run.directory.is_empty(),
        "the profile does not say where its program ran, as none does that was imported; name the program: \
         timewise simulate -- PROGRAM …"
    );
    ensure!(
        !profile.runs.iter().any(Run::is_of_a_period),
        "the profile is of a program that ran already: to start it once more could do harm, and need not do the same; name \
         the program: timewise simulate -- PROGRAM …"
    );
    let directory = PathBuf::from(OsString::from_vec(run.directory.clone()));
    std::env::set_current_dir(&directory)
        .with_context(|| format!("the program ran in '{}', where we cannot go", directory.display()))?;
    let of_bytes = |bytes: &Vec<u8>| OsString::from_vec(bytes.clone());
    let command: Vec<OsString> = run.command.iter().map(of_bytes).collect();
    let environment = run.environment.iter().map(|(name, value)| (of_bytes(name), of_bytes(value)));
    Ok(Launch { environment: environment.collect(), ..the_program(&command)? })
}

/// The processor of a name, of this machine, or of a file.
fn processor(core: &Path) -> anyhow::Result<Processor> {
    if core == Path::new("native") {
        return Ok(Processor::named(native()?)?);
    }
    let name = core.to_str().filter(|name| timewise_core_model::names().any(|known| known == *name));
    if let Some(name) = name {
        return Ok(Processor::named(name)?);
    }
    let text = text_of(core).with_context(|| {
        let known: Vec<&str> = timewise_core_model::names().collect();
        format!(
            "'{}' is neither a known core ({}) nor a file that can be read",
            core.display(),
            known.join(", ")
        )
    })?;
    Processor::parse(&text).with_context(|| format!("'{}' does not describe a core", core.display()))
}

/// The text of a file that describes a core, or the beginning of what can be none.
fn text_of(core: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(core)?.take(MOST_OF_A_CORE).read_to_string(&mut text)?;
    Ok(text)
}

/// The name of the core that this machine has.
fn native() -> anyhow::Result<&'static str> {
    machine::core().map(timewise_core_model::name_of).with_context(|| {
        let known: Vec<&str> = timewise_core_model::names().collect();
        format!(
            "no known core ({}) is that of this machine ({}): give one of them, or a file that describes it",
            known.join(", "),
            machine::microarchitecture().map_or_else(machine::processor_name, String::from)
        )
    })
}

/// Tells what was found.
fn tell(profile: &Profile, done: &Done, color: Colour, json: Option<&Path>) -> anyhow::Result<()> {
    let analysis = Analysis::new(profile, None);
    let compared = compared(&analysis, done).filter(|_| done.totals().0 > 0);
    let (findings, events) = compared.as_ref().map(|(findings, events)| (findings, events)).unzip();
    let Some(simulated) = Simulated::of(&analysis) else { return Ok(()) };
    let simulated = Simulated { compared: findings, events, ..simulated };
    say(simulated::text(&simulated, screen::style(&stderr(), color)).trim_end());
    let Some(path) = json else { return Ok(()) };
    destination::write(path, simulated::json(&simulated)?)
}

/// What profilers found that were compared, and how often events occurred, by the ids of the analysis.
fn compared(analysis: &Analysis, done: &Done) -> Option<(Findings, EventCounts)> {
    let number = |instruction| analysis.code.instruction_at(done.place(instruction)?).map(|id| id.0);
    let findings = done.found.compared.as_ref()?.renumbered(number);
    Some((findings, done.found.counts.renumbered(number)))
}

/// How fast it went.
fn speed(done: &Done) -> String {
    let (elapsed, speed) = done.speed();
    format!("simulated in {:.2} s: {} million instructions a second", elapsed.as_secs_f64(), figure(speed))
}
