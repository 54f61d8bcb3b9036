//! `timewise branches`: traces of the branches that a program takes.

use crate::arguments::Output;
use crate::attached::{Profiled, Subject, enough};
use crate::listener::Listener;
use crate::{progress, recording, signals};
use anyhow::{Context, ensure};
use std::os::fd::RawFd;
use timewise_branches::{Options, Reach, Statistics, TraceError};
use timewise_profile::{Exit, Profile};
use timewise_report::number::quantity;
use timewise_target::machine;

const SECOND_NS: u64 = 1_000_000_000;

/// Trace the branches that a program takes, in short bursts, from its start or while it runs
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise branches -- ./app input
  timewise branches -F 1000 --length 32 -o branches.tw -- ./app < data
  timewise branches --pid 1234 --for 10s    a program that runs already, which then runs on
  timewise branches --pid 1234 --children --for 10s    a server and its workers

Traces start at random moments, unless at ticks; hardware breakpoints stand in for the last-branch
record that processors and virtual machines often lack. All threads of the program are traced, and
the processes that it makes; of one that was attached to, only with --children. timewise report
shows what was seen, timewise export writes it for optimisers. docs/branches.md says which setting
is for what, and what it costs.

The exit status is the program's; 125 if timewise fails, 126 if the program cannot be executed
or attached to, 127 if there is none; 0 for one that was attached to, unless there is nothing to
save (125).")]
pub struct Arguments {
    #[command(flatten)]
    output: Output,
    /// Traces per second of CPU time and thread, on average
    #[arg(short = 'F', long, value_name = "HZ", default_value = "100",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(timewise_branches::MOST_TRACES_A_SECOND)))]
    frequency: u32,
    /// Taken branches of a trace
    #[arg(long, value_name = "BRANCHES", default_value = "16",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(timewise_branches::LONGEST_TRACE)))]
    length: u32,
    /// Confirm one of so many traces by a breakpoint at its end, also where nothing could have gone otherwise; 0 for
    /// none
    #[arg(long, value_name = "TRACES", default_value = "16")]
    confirm: u32,
    /// Start traces where the kernel's timer interrupts the program anyway, 100 to 1000 times a second, from Linux 6.4 on:
    /// cheaper in virtual machines, for programs that compute; of what one does in step with the clock, shares may be far off
    #[arg(long)]
    at_ticks: bool,
    #[command(flatten)]
    pub profiled: Profiled,
    /// With --pid: also the processes that descend from it, such as workers of a server, those that it makes meanwhile
    /// included
    #[arg(long, requires = "pid", conflicts_with = "command")]
    children: bool,
    /// Descriptor to which is written, in four bytes each, the process that traces once it does, and 0 once the profile is
    /// saved
    #[arg(long, value_name = "FD", requires = "pid", hide = true, value_parser = clap::value_parser!(i32).range(3..))]
    tell: Option<RawFd>,
}

/// Runs the command, to the end of the program.
pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    arguments.output.begin()?;
    let period_ns = SECOND_NS / u64::from(arguments.frequency);
    let timer_tick_ns = if arguments.at_ticks { tick_for(period_ns)? } else { 0 };
    let (length, confirm) = (arguments.length, arguments.confirm);
    let options = Options { length, period_ns, timer_tick_ns, confirm };
    let mut statistics = Statistics::default();
    let listener = arguments.tell.map(Listener::at);
    let (profile, exit) = match arguments.profiled.subject()? {
        Subject::Program(program) => {
            let profile = recording::record(program.launch(), |stopped| {
                let traced = timewise_branches::record(stopped, &options)?;
                statistics = traced.statistics;
                Ok::<_, TraceError>(traced.profile)
            })?;
            let exit = profile.runs[0].exit;
            (profile, exit)
        }
        Subject::Process(pid, time) => {
            let _attached = signals::attached();
            let _shown = progress::show_until("tracing", Some(time));
            let reach = if arguments.children { Reach::Descendants } else { Reach::Process };
            // It is asked from when it has attached on.
            let enough = || {
                listener.iter().for_each(Listener::tell_tracing);
                enough()
            };
            let traced = timewise_branches::attach(pid, reach, time, &options, enough)?;
            statistics = traced.statistics;
            (traced.profile, Exit::Code(0))
        }
    };
    recording::keep(profile, &arguments.output, |profile| summary(profile, &statistics))?;
    listener.iter().for_each(Listener::tell_saved);
    Ok(exit)
}

/// The time between two ticks of the kernel's timer, if they come often enough for traces so many nanoseconds apart.
fn tick_for(period_ns: u64) -> anyhow::Result<u64> {
    let tick_ns = machine::timer_tick_ns().context(
        "--at-ticks needs Linux 6.4, from which on it is known when the timer ticks; leave it out",
    )?;
    ensure!(
        period_ns >= tick_ns,
        "--at-ticks gives at most {} traces a second here, as often as the kernel's timer ticks; ask for fewer by \
         --frequency, or leave it out",
        SECOND_NS / tick_ns
    );
    Ok(tick_ns)
}

/// What was traced, and what it took, in a few words.
fn summary(profile: &Profile, statistics: &Statistics) -> String {
    let run = &profile.runs[0];
    let seconds = run.elapsed_ns as f64 / 1e9;
    let per_branch = |breakpoints: u64| breakpoints as f64 / statistics.branches.max(1) as f64;
    let text = format!(
        "traced in {seconds:.2} s: {} in {}, {} reached ({:.4} a branch; without evaluation {:.2})",
        quantity(statistics.branches, "branch"),
        quantity(statistics.traces, "trace"),
        quantity(statistics.hits, "breakpoint"),
        per_branch(statistics.hits),
        per_branch(statistics.conditional),
    );
    recording::with_warnings(text, run)
}
