//! `timewise fdo`: from a profile of branches to a faster program, and the proof that it is.

use crate::export::linkage_of;
use crate::recording;
use crate::talk::say;
use anyhow::{Context, bail};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Seek};
use std::path::{Path, PathBuf};
use timewise_export as export;
use timewise_fdo::compare::{Comparison, FEWEST_PAIRS, compare};
use timewise_fdo::{bolt, clang};
use timewise_profile::Profile;
use timewise_target::launch::Launch;

/// Make a program faster by a profile of its branches, and prove it
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise fdo --bolt -o app.bolt -- ./app input
  timewise fdo --clang 'clang -O2 $FDO_FLAGS -o $OUTPUT app.c' -o app.fdo -- ./app input

The program runs once under branch tracing (--exact: under count), BOLT lays it out anew or Clang
compiles it again, and the result runs in turns with the program before: it must write the same
and end alike. With --clang, the command builds a program at $OUTPUT; it runs twice, first without
and then with a profile in $FDO_FLAGS, and PROGRAM only gives the arguments. The exit status is 0
if the result is faster beyond doubt, 3 if it is not, 2 if something fails.")]
pub struct Arguments {
    /// Lay the program out anew with BOLT; it should have been linked with -Wl,--emit-relocs
    #[arg(long, required_unless_present = "clang", conflicts_with = "clang")]
    bolt: bool,
    /// Build the program with Clang by this command of the shell
    #[arg(long, value_name = "COMMAND")]
    clang: Option<String>,
    /// Where the faster program goes
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: PathBuf,
    /// Count all branches exactly instead of tracing some
    #[arg(long)]
    exact: bool,
    /// Traces per second of CPU time
    #[arg(short = 'F', long, value_name = "HZ", default_value = "1000",
          value_parser = clap::value_parser!(u32).range(1..=50_000))]
    frequency: u32,
    /// Taken branches of a trace
    #[arg(long, value_name = "BRANCHES", default_value = "1000",
          value_parser = clap::value_parser!(u32).range(2..=i64::from(timewise_branches::LONGEST_TRACE)))]
    length: u32,
    /// Pairs of runs that are compared
    #[arg(long, value_name = "PAIRS", default_value = "15",
          value_parser = clap::value_parser!(u32).range(FEWEST_PAIRS as i64..))]
    pairs: u32,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// Runs the command: whether the result is faster beyond doubt.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let (program, rest) = arguments.command.split_first().context("name a program")?;
    let input = kept_input()?;
    let output = std::path::absolute(&arguments.output)?;
    let folder = tempfile::tempdir()?;
    let base = match &arguments.clang {
        None => resolved(program)?,
        Some(command) => {
            let base = folder.path().join("base");
            clang::build(command, &base, None)?;
            base
        }
    };
    let profile = profile(&base, rest, input.as_ref(), arguments)?;
    if profile.taken_branches.is_empty() && profile.edge_counts.is_empty() {
        let why = profile.runs[0].warnings.join("; ");
        bail!("no branches were seen, so there is nothing to optimise by: {why}");
    }
    // Whatever it executes besides is not what is optimised.
    let module = export::traced::first_executable(&profile);
    match &arguments.clang {
        None => {
            let branches = export::bolt::export(&profile, module, &linkage_of(&profile, module));
            let said = bolt::optimise(&base, &branches, &output)?;
            say(format_args!("BOLT laid out {} functions anew", said.laid_out));
            if said.mismatching > 0 || said.stale > 0 {
                say(format_args!(
                    "warning: BOLT found {} stretches that contradict the program, and {} functions with a profile \
                     that it did not believe",
                    said.mismatching, said.stale
                ));
            }
        }
        Some(command) => {
            let samples = folder.path().join("samples.prof");
            for warning in
                clang::sample_profile(&base, &export::llvm_profgen::export(&profile, module), &samples)?
            {
                say(&warning);
            }
            clang::build(command, &output, Some(&samples))?;
        }
    }
    let compared = compare(&base, &output, rest, input.as_ref(), arguments.pairs as usize)?;
    say(verdict(&output, &compared));
    Ok(compared.interval.1 < 1.0)
}

/// What came of it, in a sentence.
fn verdict(output: &Path, compared: &Comparison) -> String {
    let Comparison { base_s, ratio, interval: (low, high), pairs } = *compared;
    let is_proved = if high < 1.0 { "" } else { "; no gain is proved" };
    format!(
        "{} does the same in {pairs} pairs of runs, in {ratio:.3} times the CPU time ({low:.3} to {high:.3}) of \
         {base_s:.2} s: {:.3} times as fast{is_proved}",
        output.display(),
        1.0 / ratio
    )
}

/// Profiles one run, whose output nobody wants.
fn profile(
    program: &Path,
    arguments: &[OsString],
    input: Option<&File>,
    options: &Arguments,
) -> anyhow::Result<Profile> {
    const SECOND_NS: u64 = 1_000_000_000;
    let mut launch = Launch::new(program);
    launch.arguments = arguments.to_vec();
    launch.stdout = File::create("/dev/null")?.into();
    launch.stderr = File::create("/dev/null")?.into();
    launch.stdin = match input {
        Some(mut file) => {
            file.rewind()?;
            file.try_clone()?.into()
        }
        None => File::open("/dev/null")?.into(),
    };
    let tracing = timewise_branches::Options {
        length: options.length,
        period_ns: SECOND_NS / u64::from(options.frequency),
        ..timewise_branches::Options::default()
    };
    recording::record(launch, |stopped| {
        if options.exact {
            let counting = timewise_engine::Options { calls: false, ..timewise_engine::Options::default() };
            return Ok::<_, anyhow::Error>(timewise_engine::record(stopped, &counting)?.profile);
        }
        Ok(timewise_branches::record(stopped, &tracing)?.profile)
    })
}

/// Standard input, to be read again for each run; nothing from a terminal.
fn kept_input() -> anyhow::Result<Option<File>> {
    if io::stdin().is_terminal() {
        return Ok(None);
    }
    let mut kept = tempfile::tempfile()?;
    io::copy(&mut io::stdin().lock(), &mut kept).context("cannot keep standard input")?;
    Ok(Some(kept))
}

/// The file that a program's name stands for.
fn resolved(program: &OsString) -> anyhow::Result<PathBuf> {
    let name = Path::new(program);
    if name.components().count() > 1 {
        return Ok(name.to_path_buf());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    found.with_context(|| format!("there is no program '{}' on the path", name.display()))
}
