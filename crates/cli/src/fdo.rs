//! `timewise fdo`: from a profile of branches to a faster program, and the proof that it is.

use crate::destination::{self, refusal};
use crate::export::subject::Subject;
use crate::talk::say;
use crate::{recording, signals};
use anyhow::{Context, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Seek};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use timewise_export as export;
use timewise_export::traced::Traced;
use timewise_fdo::compare::{Comparison, FEWEST_PAIRS, compare};
use timewise_fdo::{bolt, clang};
use timewise_profile::Profile;
use timewise_report::number::quantity;
use timewise_target::launch::Launch;
use timewise_target::program::resolve;

/// Make a program faster by a profile of its branches, and prove it
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("tool").required(true))]
#[command(after_help = "\
Examples:
  timewise fdo --bolt -o app.bolt -- ./app input
  timewise fdo --clang 'clang -O2 $FDO_FLAGS -o $OUTPUT app.c' -o app.fdo -- ./app input

The program runs once under branch tracing (--exact: under count), BOLT lays it out anew or Clang
compiles it again, and the result runs in turns with the program before: it must write the same
and end alike. With --clang, the command builds a program at $OUTPUT; it runs twice, first without
and then with a profile in $FDO_FLAGS, and PROGRAM only gives the arguments. The exit status is 0
if the result is faster by all of the interval of 95 %, 3 if it is not, 2 if something fails.")]
pub struct Arguments {
    /// Lay the program out anew with BOLT; it should have been linked with -Wl,--emit-relocs
    #[arg(long, group = "tool")]
    bolt: bool,
    /// Build the program with Clang by this command of the shell
    #[arg(long, value_name = "COMMAND", group = "tool")]
    clang: Option<String>,
    /// Where the faster program goes
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: PathBuf,
    /// Count all branches exactly instead of tracing some
    #[arg(long)]
    exact: bool,
    /// Traces per second of CPU time
    #[arg(short = 'F', long, value_name = "HZ", default_value = "1000",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(timewise_branches::MOST_TRACES_A_SECOND)))]
    frequency: u32,
    /// Taken branches of a trace
    #[arg(long, value_name = "BRANCHES", default_value = "1000",
          value_parser = clap::value_parser!(u32).range(2..=i64::from(timewise_branches::LONGEST_TRACE)))]
    length: u32,
    /// Pairs of runs that are compared: at least 6, as fewer prove nothing
    #[arg(long, value_name = "PAIRS", default_value = "15",
          value_parser = clap::value_parser!(u32).range(FEWEST_PAIRS as i64..))]
    pairs: u32,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// Runs the command: whether the result is faster by all of its interval.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    signals::outlive();
    let is_faster = make(arguments);
    // Only now, when what was made on the way is gone.
    if let Some(signal) = signals::interruption() {
        timewise_target::end::by_signal(signal);
    }
    is_faster
}

fn make(arguments: &Arguments) -> anyhow::Result<bool> {
    let (program, rest) = arguments.command.split_first().context("name a program")?;
    let program = arguments.clang.is_none().then(|| resolve(program)).transpose()?;
    let output = replaceable(&arguments.output, program.as_deref())?;
    let input = kept_input()?;
    let folder = tempfile::tempdir().with_context(no_room)?;
    let base = match (program, &arguments.clang) {
        (None, Some(command)) => {
            let base = folder.path().join("base");
            clang::build(command, &base, None)?;
            base
        }
        (program, _) => program.context("name a program")?,
    };
    // It takes its place only when it is known to do the same.
    let (beside, name) = output.parent().zip(output.file_name()).with_context(|| refusal(&output))?;
    let workshop = tempfile::tempdir_in(beside).with_context(|| refusal(&output))?;
    let made = workshop.path().join(name);
    let profile = profile(&base, rest, input.as_ref(), arguments)?;
    if signals::interruption().is_some() {
        bail!("interrupted");
    }
    if profile.taken_branches.is_empty() && profile.edge_counts.is_empty() {
        let why = profile.runs[0].warnings.join("; ");
        bail!("there is nothing to optimise by: {why}");
    }
    // Whatever it executes besides is not what is optimised.
    let module = export::traced::first_executable(&profile);
    if Traced::within(&profile, module).is_empty() {
        bail!(
            "no branches were seen in the program's own code, only in libraries: nothing could be gained by them"
        );
    }
    match &arguments.clang {
        None => {
            let subject = module.map(|module| Subject::that_ran(&profile, module, None)).transpose()?;
            let linkage = subject.map(|subject| subject.linkage()).unwrap_or_default();
            let branches = export::bolt::export(&profile, module, &linkage);
            let said = bolt::optimise(&base, &branches, &made)?;
            say(match said.laid_out {
                0 => "warning: BOLT laid out no function anew: a gain is hardly the profile's".into(),
                some => format!("BOLT laid out {} anew", quantity(some, "function")),
            });
            if said.mismatching > 0 || said.stale > 0 {
                say(format_args!(
                    "warning: BOLT found {} of code that contradict the program, and {} with a profile that it did not \
                     believe",
                    quantity(said.mismatching, "stretch"),
                    quantity(said.stale, "function")
                ));
            }
            if said.stripped {
                say("warning: the result has no debug information: BOLT would give lines to wrong files");
            }
        }
        Some(command) => {
            let samples = folder.path().join("samples.prof");
            for warning in
                clang::sample_profile(&base, &export::llvm_profgen::export(&profile, module), &samples)?
            {
                say(&warning);
            }
            clang::build(command, &made, Some(&samples))?;
            clang::ensure_changed(&base, &made)?;
        }
    }
    let goes_on = || signals::interruption().is_none();
    let compared = compare(&base, &made, rest, input.as_ref(), arguments.pairs as usize, goes_on)?;
    fs::rename(&made, &output).with_context(|| refusal(&output))?;
    say(verdict(&output, &compared));
    Ok(compared.interval.1 < 1.0)
}

/// The whole path of the file that is to be made, if it can be and nothing is lost by that but a program of another time.
fn replaceable(output: &Path, program: Option<&Path>) -> anyhow::Result<PathBuf> {
    const PROGRAM: [u8; 4] = *b"\x7fELF";
    let output = std::path::absolute(output)?;
    destination::check(&output)?;
    if let Some(program) = program
        && destination::is_same(program, &output)?
    {
        bail!(
            "'{}' is the program itself, which is wanted to compare with; choose another file",
            output.display()
        );
    }
    let mut beginning = Vec::new();
    if let Ok(existing) = File::open(&output) {
        existing.take(PROGRAM.len() as u64).read_to_end(&mut beginning)?;
    }
    if !beginning.is_empty() && beginning != PROGRAM {
        bail!("'{}' is no program, and would be overwritten; choose another file", output.display());
    }
    Ok(output)
}

/// What came of it, in a sentence.
fn verdict(output: &Path, compared: &Comparison) -> String {
    /// What a gain is slight below: where code comes to lie alone may be worth as much.
    const SLIGHT: f64 = 1.02;
    let Comparison { base_s, ratio, interval: (low, high), pairs } = *compared;
    let conclusion = match (low, high) {
        (_, high) if 1.0 / high >= SLIGHT => "",
        (_, high) if high < 1.0 => {
            "; so slight a gain may be of this machine and input alone: compare with others, in more --pairs"
        }
        (low, _) if low > 1.0 => "; it is slower",
        _ => "; no gain is proved: more --pairs narrow the interval",
    };
    format!(
        "{} does the same in {pairs} pairs of runs, in {ratio:.3} times the CPU time of {base_s:.2} s: {:.3} times as \
         fast ({:.3} to {:.3} with 95 % confidence){conclusion}",
        output.display(),
        1.0 / ratio,
        1.0 / high,
        1.0 / low
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
    let mut kept = tempfile::tempfile().with_context(no_room)?;
    if !comes_soon(io::stdin()) {
        say("reading standard input to its end, as each run needs all of it; without any: < /dev/null");
    }
    io::copy(&mut io::stdin().lock(), &mut kept).context("cannot keep standard input")?;
    Ok(Some(kept))
}

/// Whether there is something to read, or the end of it, within a second.
fn comes_soon(input: impl AsFd) -> bool {
    const SECOND: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
    // An error is found when it is read.
    poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&SECOND)) != Ok(0)
}

/// What is said where nothing can be written on the way.
fn no_room() -> String {
    let folder = std::env::temp_dir();
    format!(
        "cannot write in '{}', the folder for temporary files; name another: TMPDIR=FOLDER",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_said_than_the_interval_tells() {
        let said = |ratio, interval| {
            verdict(Path::new("out"), &Comparison { base_s: 1.0, ratio, interval, pairs: 6 })
        };
        let clear = "out does the same in 6 pairs of runs, in 0.800 times the CPU time of 1.00 s: 1.250 times as fast \
                     (1.111 to 1.333 with 95 % confidence)";
        assert_eq!(said(0.8, (0.75, 0.9)), clear);
        for (interval, says) in [
            ((0.98, 0.999), "so slight a gain"),
            ((0.9, 1.01), "no gain is proved"),
            ((1.001, 1.1), "it is slower"),
        ] {
            assert!(said(0.994, interval).contains(says), "{interval:?}");
        }
    }
}
