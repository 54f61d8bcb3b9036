//! `timewise export`: a profile in the formats that other tools read.

use crate::arguments::DEFAULT_FILE;
use crate::reading::{self, Charging};
use crate::talk::say;
use crate::{destination, screen};
use anyhow::bail;
use std::cmp::Reverse;
use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use timewise_export as export;
use timewise_export::traced::Traced;
use timewise_flow::Analysis;
use timewise_image::Image;
use timewise_profile::{ModuleId, Profile};
use timewise_report::visible::visible;

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
    /// Whose branches to write: this executable or library rather than the executable with the most
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    #[command(flatten)]
    charging: Charging,
}

/// What a profile can be written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Format {
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
        format if format.needs_branches() => branches(&arguments.file)?,
        _ => reading::load(&arguments.file)?,
    };
    if format.needs_samples() && profile.samples.is_empty() {
        bail!(
            "'{}' holds counts but no samples, which this format consists of; export it --to callgrind, csv or \
             pprof, or profile with timewise run",
            arguments.file.display()
        );
    }
    let module = match &arguments.binary {
        binary if format.needs_branches() => Some(module_with_branches(&profile, binary.as_deref(), format)?),
        Some(_) => bail!("--binary is for formats of branches; leave it out"),
        None => None,
    };
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
            export::bolt::export(&profile, module, &linkage_of(&profile, module)).into_bytes()
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

/// A profile with branches, whatever else it holds.
fn branches(file: &Path) -> anyhow::Result<Profile> {
    let profile = Profile::load(file)?;
    if profile.taken_branches.is_empty() && profile.edge_counts.is_empty() {
        bail!(
            "'{}' holds no branches; trace them: timewise branches -- PROGRAM, or count them: timewise count -- \
             PROGRAM",
            file.display()
        );
    }
    Ok(profile)
}

/// The procedure linkage tables of a module; none if its file is not there any more.
pub fn linkage_of(profile: &Profile, module: Option<ModuleId>) -> Vec<Range<u64>> {
    let Some(module) = module.map(|module| &profile.modules[module.index()]) else { return Vec::new() };
    let image = Image::open_same(Path::new(OsStr::from_bytes(&module.path)), &module.build_id);
    image.map(|image| image.linkage()).unwrap_or_default()
}

/// The module that a file is, or was when the program ran, else the executable with the most branches.
fn module_with_branches(
    profile: &Profile,
    binary: Option<&Path>,
    format: Format,
) -> anyhow::Result<ModuleId> {
    let found = match binary {
        None => export::traced::busiest_executable(profile),
        Some(binary) => {
            let whole = binary.canonicalize().unwrap_or_else(|_| binary.to_path_buf());
            let at = |path: &Path| export::traced::module_at(profile, path.as_os_str().as_bytes());
            at(&whole).or_else(|| at(binary))
        }
    };
    let traced = Traced::within(profile, found);
    if let Some(module) = found.filter(|_| !traced.branches.is_empty()) {
        return Ok(module);
    }
    let file = match (binary, found) {
        (Some(binary), _) => format!("'{}'", binary.display()),
        (None, Some(module)) => {
            let path = String::from_utf8_lossy(&profile.modules[module.index()].path);
            format!("the program itself, '{path}'")
        }
        (None, None) => "the program itself".into(),
    };
    let remedy = remedy(profile);
    match found.filter(|_| format.can_do_without_branches() && !traced.is_empty()) {
        Some(module) => {
            say(visible(&format!(
                "warning: no branches were taken within {file}, so what is written tells how often its code ran, but not \
                 by which ways; {remedy}"
            )));
            Ok(module)
        }
        None => bail!("no branches were taken within {file}, which this format consists of; {remedy}"),
    }
}

/// What may give branches where a file has none.
fn remedy(profile: &Profile) -> String {
    let taken = export::traced::within_by_module(profile);
    let mut others: Vec<_> = taken.iter().zip(&profile.modules).filter(|(taken, _)| **taken > 0).collect();
    others.sort_by_key(|&(taken, _)| Reverse(taken));
    let names = others.iter().take(5).map(|(_, module)| String::from_utf8_lossy(&module.path));
    let other = match names.collect::<Vec<_>>().join(", ") {
        names if names.is_empty() => "profile a longer run".into(),
        names => format!("choose another by --binary FILE: those with the most are {names}"),
    };
    match profile.taken_branches.is_empty() {
        true => other,
        false => format!("trace more (timewise branches -F 4000 --length 1000), or {other}"),
    }
}
