//! `timewise run`: the whole job. The program runs natively under sampling and again under counting, and
//! what both tell of the same code is joined.

use crate::arguments::{Counting, DEFAULT_FILE, Output, Program, Sampling};
use crate::attached::{Profiled, Subject};
use crate::screen::{self, Colour};
use crate::talk::{complain, is_quiet, say};
use crate::twice::{Input, Outputs, Written};
use crate::{count, in_turns, prepare, progress, recording, signals, standstill};
use anyhow::Context;
use std::ffi::OsString;
use std::time::Duration;
use timewise_flow::Analysis;
use timewise_profile::{Exit, Profile, Run};
use timewise_report::summary;
use timewise_target::launch::Launch;

/// Sample and count a program, and say where its cycles go and why
#[derive(clap::Args)]
#[command(after_help = "\
The program runs twice. Standard input is read once and given to it twice, unless it is a terminal:
then the second run has none. Only what the first run writes is shown. What the program itself
changes or uses up must be put back before the second run: --prepare. What cannot be, such as what
came through a FIFO or a socket that it opened itself, needs --once. So do shells, editors and pagers:
their second run would wait for keys unseen, and a shell has no control of jobs here.

Examples:
  timewise run -- ./app input
  timewise run -- sqlite3 < script.sql
  timewise run --prepare 'cp table.orig table' -- ./update table
  timewise run --once -- ./send-mail        run once: samples only
  timewise run --pid 1234 --for 30s         a program that runs already: both in turns

The exit status is the program's; 125 if timewise fails, 126 if the program cannot be executed,
127 if there is none. A signal that ends the program ends timewise as well.")]
pub struct Arguments {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    sampling: Sampling,
    #[command(flatten)]
    counting: Counting,
    /// Command for the shell to run before each of the two runs
    #[arg(long, value_name = "COMMAND")]
    prepare: Option<OsString>,
    /// Run the program once and sample it: for programs that must not run twice
    #[arg(long)]
    once: bool,
    /// When to use colours
    #[arg(long, visible_alias = "colour", value_enum, default_value_t, value_name = "WHEN")]
    color: Colour,
    #[command(flatten)]
    pub profiled: Profiled,
}

const INTERRUPTED: &str = "counting was interrupted: counts are those up to then, and costs per execution are \
                           too high by as much as is missing";

/// How many times as long as natively a program usually works under count (`docs/performance.md`), without and with
/// the costs of calls.
const USUAL_SLOWDOWN: [f64; 2] = [1.6, 2.4];

/// Runs the command, to the end of the program.
pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    arguments.output.begin()?;
    let (profile, exit) = match arguments.profiled.subject()? {
        Subject::Program(program) => run_twice(arguments, program)?,
        Subject::Process(..) if arguments.once || arguments.prepare.is_some() => {
            anyhow::bail!(
                "--once and --prepare are for programs that are launched; leave them out with --pid, or say --once=false \
                 where timewise.toml sets it"
            )
        }
        Subject::Process(pid, time) => {
            let (sampling, counting) = (arguments.sampling.options(), arguments.counting.options());
            (in_turns::profile(pid, time, &sampling, &counting)?, Exit::Code(0))
        }
    };
    let mut next = None;
    let place = recording::keep(profile, &arguments.output, |profile| {
        let style = screen::style(&std::io::stderr(), arguments.color);
        let path = arguments.output.path.to_string_lossy();
        let elsewhere = Some(&*path).filter(|&path| path != DEFAULT_FILE);
        let analysis = Analysis::new(profile, None);
        next = summary::next(&analysis, elsewhere);
        if is_quiet() {
            // Costs are wrong then, also where nothing else is to be said.
            analysis.quality.differing_runs.iter().for_each(complain);
        }
        summary::summary(&analysis, style)
    })?;
    // What to ask next names the file that was meant, which is another recording's then.
    next.into_iter().filter(|_| place == arguments.output.path).for_each(say);
    Ok(exit)
}

/// Both runs of a program that we launch: what came of them, and how it ended.
fn run_twice(arguments: &Arguments, program: &Program) -> anyhow::Result<(Profile, Exit)> {
    // What a program that runs once does not read is left to whoever reads next.
    let input = if arguments.once { Input::Inherited } else { Input::of_process()? };
    let outputs = Outputs::of_process().context("cannot examine standard output and error")?;
    let (mut profile, first) = first_run(arguments, program.launch(), &input, &outputs)?;
    let mut exit = profile.runs[0].exit;
    let interrupted = signals::interruption_behind(exit);
    if arguments.once {
        profile.runs[0]
            .warnings
            .push("the program was not counted, as asked: costs are not per execution".into());
    } else if interrupted.is_some() {
        profile.runs[0].warnings.push("the program was interrupted, and not run again for counting".into());
    } else {
        match second_run(arguments, program.launch(), &input, &outputs, (&profile.runs[0], &first)) {
            Ok(counted) => {
                profile.append(counted);
                if let Some(signal) = signals::interruption() {
                    exit = Exit::Signal(signal);
                }
            }
            Err(error) => profile.runs[0].warnings.push(format!("not counted: {error:#}")),
        }
    }
    Ok((profile, exit))
}

/// The run that the user sees.
fn first_run(
    arguments: &Arguments,
    mut launch: Launch,
    input: &Input,
    outputs: &Outputs,
) -> anyhow::Result<(Profile, Written)> {
    prepare::run(arguments.prepare.as_deref())?;
    let ends = outputs.first().context("cannot pass on standard output and error")?;
    (launch.stdout, launch.stderr) = (ends.stdout, ends.stderr);
    launch.stdin = input.first().context("cannot pass on standard input")?;
    let options = arguments.sampling.options();
    let profile = recording::record(launch, |stopped| timewise_sampler::record(stopped, &options));
    let written = ends.record.finish();
    let mut profile = profile?;
    profile.runs[0].stdout_hash = written.stdout.map(|stdout| stdout.hash());
    Ok((profile, written))
}

/// The run that counts, after the first one, of which `first` tells what it wrote.
fn second_run(
    arguments: &Arguments,
    mut launch: Launch,
    input: &Input,
    outputs: &Outputs,
    first: (&Run, &Written),
) -> anyhow::Result<Profile> {
    prepare::run(arguments.prepare.as_deref())?;
    let (stdin, other_input) = input.again()?;
    launch.stdin = stdin;
    let ends = outputs.again(first.1).context("cannot capture the output of the counting run")?;
    (launch.stdout, launch.stderr) = (ends.stdout, ends.stderr);
    let options = arguments.counting.options();
    let native = Duration::from_nanos(first.0.elapsed_ns);
    let shown = progress::show_until("counting", Some(likely_duration(first.0, options.calls)));
    let counted = recording::record(launch, |stopped| {
        let _watched = standstill::watch(stopped.pid(), native);
        count::watch(stopped, &options)
    });
    let written = ends.record.finish();
    drop(shown);
    let mut profile = counted?;
    let run = &mut profile.runs[0];
    run.stdout_hash = written.stdout.map(|stdout| stdout.hash());
    run.warnings.extend(other_input);
    if signals::interruption().is_some() {
        // Half an output tells nothing.
        run.stdout_hash = None;
        run.warnings.push(INTERRUPTED.into());
    } else if only_messages_differ(first, (run, &written)) {
        run.warnings.push("the runs differ: they wrote different messages to standard error".into());
    }
    Ok(profile)
}

/// How long a counting run is likely to take: what the program works for in user mode takes longer than it did.
fn likely_duration(native: &Run, calls: bool) -> Duration {
    let busy = native.user_ns.min(native.elapsed_ns) as f64;
    Duration::from_nanos(native.elapsed_ns)
        + Duration::from_nanos((busy * (USUAL_SLOWDOWN[usize::from(calls)] - 1.0)) as u64)
}

/// Whether two runs, each with what it wrote, did the same but for standard error. Of all other differences
/// the profile itself tells.
fn only_messages_differ(first: (&Run, &Written), second: (&Run, &Written)) -> bool {
    let same_end = first.0.exit == second.0.exit && first.0.stdout_hash == second.0.stdout_hash;
    same_end && first.1.stderr != second.1.stderr
}
