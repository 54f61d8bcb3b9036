//! `timewise import`: what `perf record` wrote, as the sampling half of a profile.

use crate::arguments::Output;
use crate::{reading, recording};
use anyhow::{Context, bail, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use timewise_profile::{Profile, RunKind};
use timewise_report::number::{grouped, quantity};
use timewise_report::visible::visible;
use timewise_sampler::Options;

/// Make a profile of what perf record wrote
#[derive(clap::Args)]
#[command(after_help = "\
Reads files that perf record writes, compressed (-z) or not, with call stacks or not, and what
perf record -o - writes into a pipe. Samples must measure time or cycles: -e cycles, cpu-clock
or task-clock.

Examples:
  perf record -g ./app input && timewise import perf.data
  perf record -g -o - ./app input | timewise import - -o app.tw
  timewise count -o counts.tw -- ./app input
  timewise import perf.data --counts counts.tw    time and counts together, as timewise run has them")]
pub struct Arguments {
    /// What perf record wrote; - is standard input
    #[arg(default_value = "perf.data")]
    file: PathBuf,
    /// Join with the counts of this profile, which timewise count has made of the same program
    #[arg(long, value_name = "FILE")]
    counts: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Imports, joins and saves.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    arguments.output.begin()?;
    let counts = arguments.counts.as_deref().map(reading::load).transpose()?;
    if let (Some(counts), Some(path)) = (&counts, &arguments.counts) {
        let holds = |kind| counts.runs.iter().any(|run| run.kind == kind);
        if !holds(RunKind::Counting) {
            bail!("'{}' holds no counts; make some with timewise count", path.display());
        }
        if holds(RunKind::Sampling) {
            bail!(
                "'{}' holds samples of its own beside its counts; make counts alone with timewise count",
                path.display()
            );
        }
    }
    let mut profile = timewise_sampler::import::perf_data(&arguments.file, Options::default().sample_limit)
        .with_context(|| format!("cannot import '{}'", arguments.file.display()))?;
    if profile.samples.is_empty() {
        bail!("'{}' holds no samples; record a longer run", arguments.file.display());
    }
    if let (Some(counts), Some(path)) = (counts, &arguments.counts) {
        ensure_same(&profile, &counts, path)?;
        profile.append(counts);
    }
    recording::keep(profile, &arguments.output, summary).map(drop)
}

/// Refuses counts of other programs than those that were recorded.
fn ensure_same(recorded: &Profile, counts: &Profile, file: &Path) -> anyhow::Result<()> {
    let executables = |profile: &Profile| -> BTreeSet<Vec<u8>> {
        profile.processes.iter().map(|process| process.executable.clone()).collect()
    };
    let (known, counted) = (executables(recorded), executables(counts));
    ensure!(
        known.is_empty() || !known.is_disjoint(&counted),
        "'{}' holds counts of {}, and the recording is of {}; count the same with timewise count",
        file.display(),
        named(&counted),
        named(&known)
    );
    Ok(())
}

/// A few executables, by their paths.
fn named(executables: &BTreeSet<Vec<u8>>) -> String {
    let names: Vec<String> =
        executables.iter().take(3).map(|path| visible(&String::from_utf8_lossy(path)).into_owned()).collect();
    let more = if executables.len() > names.len() { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}

/// What was imported, in a few words, and what limits it.
fn summary(profile: &Profile) -> String {
    let run = &profile.runs[0];
    let event = run.clock.as_ref().map_or("?", |clock| &clock.event);
    let samples = quantity(profile.samples.len() as u64, "sample");
    let text = format!("imported {samples} of {event}, {} lost", grouped(run.lost_samples));
    recording::with_warnings(text, run)
}
