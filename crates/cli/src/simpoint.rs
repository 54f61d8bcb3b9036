//! `timewise simpoint`: which intervals of an execution stand for the whole, by their basic block vectors.

use crate::arguments::DEFAULT_FILE;
use crate::destination;
use crate::reading::Printed;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use timewise_export::simpoint as files;
use timewise_profile::{Profile, ThreadId};
use timewise_report::simpoint::{self as report, Chosen};
use timewise_simpoint::{Options, SimPoints, Vectors, choose, threads};

/// Choose the intervals that stand for a whole execution, to simulate these only
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise count --intervals 10M -- ./app && timewise simpoint
  timewise simpoint old.tw -o app          writes app.bb, app.simpoints, app.weights and app.labels
  timewise simpoint --max-k 10 --format json | jq '.points[] | [.first_instruction, .weight]'

How points are chosen, and what to do with them, is described in docs/simpoint.md.")]
pub struct Arguments {
    /// The profile, with intervals: timewise count --intervals N
    #[arg(default_value = DEFAULT_FILE)]
    file: PathBuf,
    /// Choose for this thread, by its number in the profile, rather than for that with the most instructions
    #[arg(long, value_name = "NUMBER")]
    thread: Option<u32>,
    /// Choose no more points than that
    #[arg(long, value_name = "K", default_value_t = Options::default().most_points as u32, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max_k: u32,
    /// Project vectors to so many dimensions
    #[arg(long, value_name = "D", default_value_t = Options::default().dimensions as u32, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    dimensions: u32,
    /// Choose the fewest points with a score of this, 0 being the worst seen and 1 the best
    #[arg(long, value_name = "T", default_value_t = Options::default().threshold, value_parser = parse_threshold)]
    threshold: f64,
    /// Also write PREFIX.bb, .simpoints, .weights and .labels, as SimPoint 3.2 does
    #[arg(short = 'o', long = "output", value_name = "PREFIX")]
    output: Option<PathBuf>,
    #[command(flatten)]
    printed: Printed,
}

/// Prints and writes what was asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let profile = Profile::load(&arguments.file)?;
    let thread = thread(&profile, arguments)?;
    let vectors = Vectors::of(&profile, thread);
    let options = Options {
        most_points: arguments.max_k as usize,
        dimensions: arguments.dimensions as usize,
        threshold: arguments.threshold,
    };
    let found = choose(&vectors, &options);
    if found.points.is_empty() {
        bail!("'{}' holds intervals without instructions; count again", arguments.file.display());
    }
    if let Some(prefix) = &arguments.output {
        write(&arguments.file, prefix, &vectors, &found)?;
    }
    let chosen = Chosen { profile: &profile, thread, vectors: &vectors, options, found: &found };
    let printed = &arguments.printed;
    printed.print(|style| report::text(&chosen, style), || report::json(&chosen), || report::csv(&chosen))
}

fn parse_threshold(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(threshold) if (0.0..=1.0).contains(&threshold) => Ok(threshold),
        _ => Err("it is no number from 0 to 1, such as 0.9".into()),
    }
}

/// The thread that was asked for.
fn thread(profile: &Profile, arguments: &Arguments) -> anyhow::Result<ThreadId> {
    let threads = threads(profile);
    let (busiest, _) = threads.first().with_context(|| {
        let file = arguments.file.display();
        format!("'{file}' holds no intervals; make some: timewise count --intervals 10M -- PROGRAM")
    })?;
    let Some(number) = arguments.thread else { return Ok(*busiest) };
    if threads.iter().any(|(thread, _)| thread.0 == number) {
        return Ok(ThreadId(number));
    }
    let name = |&(thread, _): &(ThreadId, u64)| {
        format!("{} (tid {})", thread.0, profile.threads[thread.index()].tid)
    };
    let names: Vec<String> = threads.iter().take(5).map(name).collect();
    bail!("no thread {number} has intervals; those with the most instructions are {}", names.join(", "))
}

/// Writes the files that simulators read.
fn write(profile: &Path, prefix: &Path, vectors: &Vectors, found: &SimPoints) -> anyhow::Result<()> {
    let texts = [
        ("bb", files::vectors(vectors)),
        ("simpoints", files::points(found)),
        ("weights", files::weights(found)),
        ("labels", files::labels(found)),
    ];
    let named = texts.map(|(ending, text)| {
        let mut name = prefix.as_os_str().to_owned();
        name.push(format!(".{ending}"));
        (PathBuf::from(name), text)
    });
    named.iter().try_for_each(|(path, _)| destination::spare(profile, path))?;
    named.iter().try_for_each(|(path, text)| destination::write(path, text))
}
