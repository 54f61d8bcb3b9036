//! `timewise export`: a profile in the formats that other tools read.

pub mod subject;

use crate::arguments::DEFAULT_FILE;
use crate::reading::{self, Charging};
use crate::{destination, screen};
use anyhow::bail;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use subject::Subject;
use timewise_export as export;
use timewise_flow::Analysis;

/// Write a profile in a format that other tools read
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise export --to callgrind -o callgrind.out && callgrind_annotate callgrind.out
  timewise export --to pprof -o app.pb && go tool pprof -top app.pb
  timewise export old.tw --to folded | flamegraph.pl > flames.svg
  timewise export --to firefox -o app.json       open it at https://profiler.firefox.com
  timewise export --to speedscope -o app.json    open it at https://www.speedscope.app

What each format carries is described in docs/exchange.md.")]
pub struct Arguments {
    /// The profile
    #[arg(default_value = DEFAULT_FILE)]
    file: PathBuf,
    /// In which format
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Format,
    /// Where to write; standard output unless a file is named
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Whose branches to write: this executable or library rather than the executable with the most; a copy of it will
    /// do
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    #[command(flatten)]
    charging: Charging,
}

/// What a profile can be written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Format {
    /// For callgrind_annotate and KCachegrind: costs by line and call
    Callgrind,
    /// For flame graph tools: a line for each stack, CPU time in nanoseconds
    Folded,
    /// For `go tool pprof` and what else reads profile.proto
    Pprof,
    /// For the Firefox Profiler
    Firefox,
    /// For speedscope
    Speedscope,
    /// A table of all instructions
    Csv,
    /// The same table as Apache Parquet, if timewise was built with it
    Parquet,
    /// For `perf2bolt -pa`: branches of one file, traced by timewise branches or counted exactly
    BoltPreaggregated,
    /// For `llvm-profgen --unsymbolized-profile --use-offset=0`: likewise
    LlvmProfgen,
    /// For AutoFDO's create_llvm_prof and create_gcov with `--profiler=text`: likewise
    Autofdo,
}

impl Format {
    /// Made of samples only: without them there is nothing to write.
    fn needs_samples(self) -> bool {
        matches!(self, Format::Folded | Format::Firefox | Format::Speedscope)
    }

    /// Made of branches only.
    fn needs_branches(self) -> bool {
        matches!(self, Format::BoltPreaggregated | Format::LlvmProfgen | Format::Autofdo)
    }

    /// BOLT makes nothing of straight code alone; the others take how hot each line is from it.
    fn can_do_without_branches(self) -> bool {
        matches!(self, Format::LlvmProfgen | Format::Autofdo)
    }

    fn is_text(self) -> bool {
        !matches!(self, Format::Pprof | Format::Parquet)
    }
}

/// Writes what was asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let format = arguments.to;
    let output = arguments.output.as_deref().filter(|path| path.as_os_str() != "-");
    if output.is_none() && !format.is_text() && io::stdout().is_terminal() {
        bail!("this format is not for a terminal; name a file: --output FILE");
    }
    if let Some(output) = output {
        destination::spare(&arguments.file, output)?;
    }
    let profile = match format {
        format if format.needs_branches() => subject::load(&arguments.file)?,
        _ => reading::load(&arguments.file)?,
    };
    if format.needs_samples() && profile.samples.is_empty() {
        bail!(
            "'{}' holds counts but no samples, which this format consists of; export it --to callgrind, csv or \
             pprof, or profile with timewise run",
            arguments.file.display()
        );
    }
    let subject = match &arguments.binary {
        binary if format.needs_branches() => Some(Subject::of(&profile, binary.as_deref(), format)?),
        Some(_) => bail!("--binary is for formats of branches; leave it out"),
        None => None,
    };
    let module = subject.as_ref().map(|subject| subject.module);
    let analysis = Analysis::new(&profile, arguments.charging.policy());
    let bytes = match format {
        Format::Callgrind => export::callgrind::export(&analysis).into_bytes(),
        Format::Folded => export::folded::export(&analysis).into_bytes(),
        Format::Pprof => export::pprof::export(&analysis),
        Format::Firefox => export::firefox::export(&analysis)?.into_bytes(),
        Format::Speedscope => export::speedscope::export(&analysis)?.into_bytes(),
        Format::Csv => export::csv::export(&analysis)?.into_bytes(),
        Format::Parquet => parquet(&analysis)?,
        Format::BoltPreaggregated => {
            let linkage = subject.map(|subject| subject.linkage()).unwrap_or_default();
            export::bolt::export(&profile, module, &linkage).into_bytes()
        }
        Format::LlvmProfgen => export::llvm_profgen::export(&profile, module).into_bytes(),
        Format::Autofdo => export::autofdo::export(&profile, module).into_bytes(),
    };
    match output {
        Some(path) => destination::write(path, bytes),
        None => screen::write(&bytes),
    }
}

#[cfg(feature = "parquet")]
fn parquet(analysis: &Analysis) -> anyhow::Result<Vec<u8>> {
    Ok(export::parquet::export(analysis)?)
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &Analysis) -> anyhow::Result<Vec<u8>> {
    bail!("this timewise was built without Parquet: cargo build --release -p timewise --features parquet")
}
