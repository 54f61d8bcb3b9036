//! `timewise sample`: the native half alone.

use crate::arguments::{Output, Sampling};
use crate::attached::{Profiled, Subject, enough};
use crate::screen::{self, Colour};
use crate::{progress, recording, signals};
use std::collections::BTreeSet;
use std::time::Duration;
use timewise_injection::await_uncounted;
use timewise_profile::{Clock, Exit, Profile, Run};
use timewise_report::heading::unsuccessful_end;
use timewise_report::number::{grouped, quantity};
use timewise_report::visible::command_line;
use timewise_sampler::{Options, SampleError};
use timewise_target::attachable;

/// Record where a program's time passes natively, from its start or while it runs
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise sample -- ./app input
  timewise sample -F 10000 -o fine.tw -- ./app < data
  timewise sample --pid 1234 --for 10s      a program that runs already

The exit status is the program's; 125 if timewise fails, 126 if the program cannot be executed or
attached to, 127 if there is none; 0 for one that was attached to. Errors and the summary go to standard error.")]
pub struct Arguments {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    sampling: Sampling,
    #[command(flatten)]
    profiled: Profiled,
}

/// Runs the command, to the end of the program.
pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    arguments.output.begin()?;
    let options = arguments.sampling.options();
    let (profile, exit) = match arguments.profiled.subject()? {
        Subject::Program(program) => {
            let profile =
                recording::record(program.launch(), |stopped| timewise_sampler::record(stopped, &options))?;
            let exit = profile.runs[0].exit;
            (profile, exit)
        }
        Subject::Process(pid, time) => (attach(pid, time, &options)?, Exit::Code(0)),
    };
    recording::keep(profile, &arguments.output, summary)?;
    Ok(exit)
}

/// Samples a process that runs already, until we are asked to stop at the latest.
///
/// # Errors
/// If it cannot be sampled.
pub fn attach(pid: i32, time: Duration, options: &Options) -> Result<Profile, SampleError> {
    attachable::exists(pid)?;
    let _attached = signals::attached();
    // What timewise put into it is none of the program.
    await_uncounted(pid)?;
    let _shown = progress::show_until("sampling", Some(time));
    timewise_sampler::attach(pid, time, options, enough)
}

/// What was sampled, in a few words, and what limits it.
fn summary(profile: &Profile) -> String {
    let width = screen::style(&std::io::stderr(), Colour::Never).width;
    let run = &profile.runs[0];
    let threads: BTreeSet<_> = profile.samples.iter().map(|sample| sample.thread).collect();
    let mut text = format!(
        "{}: {} · {}, {} lost · {} sampled",
        command_line(run, width),
        elapsed(run, profile.threads.len()),
        quantity(profile.samples.len() as u64, "sample"),
        grouped(run.lost_samples),
        quantity(threads.len() as u64, "thread"),
    );
    if profile.processes.len() > 1 {
        text += &format!(" in {}", quantity(profile.processes.len() as u64, "process"));
    }
    text += &unsuccessful_end(&profile.runs);
    if let Some(clock) = &run.clock {
        text += &format!("\nclock: {}", describe(clock));
    }
    recording::with_warnings(text, run)
}

/// One thread either works or waits. Several do both at once; how busy they were is then the better
/// question.
fn elapsed(run: &Run, threads: usize) -> String {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let (all, user, kernel) = (seconds(run.elapsed_ns), seconds(run.user_ns), seconds(run.kernel_ns));
    if threads == 1 {
        let waiting = (all - user - kernel).max(0.0);
        return format!("{all:.2} s = {user:.2} user + {kernel:.2} kernel + {waiting:.2} waiting");
    }
    let busy = (user + kernel) / all.max(1e-9);
    format!("{all:.2} s, CPU time {user:.2} user + {kernel:.2} kernel: {busy:.2} processors busy")
}

fn describe(clock: &Clock) -> String {
    let ghz = |hz: f64| format!("{:.2}", hz / 1e9);
    let core = format!(
        "the core ran at {} GHz ({} to {} seen)",
        ghz(clock.core_hz),
        ghz(clock.core_hz_low),
        ghz(clock.core_hz_high)
    );
    let scope = clock.scope.map_or(String::new(), |scope| format!(" {}", scope.in_words()));
    let event = format!("{} at {} Hz{scope}", clock.event, clock.frequency_hz);
    if clock.counts_cycles {
        format!("{event}, hardware cycles; {core}")
    } else {
        format!("{event}, time; cycles are estimated: {core}")
    }
}
