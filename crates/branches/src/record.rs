//! Tracing a program from its first instruction to its end.

use crate::collect::Collector;
use crate::followers::{Followed, Followers};
use crate::guard;
use crate::inject::{inject, set_handler};
use crate::offspring;
use crate::pick_up;
use crate::rings::Rings;
use crate::signal_sets::{Set, has_trap};
use crate::statistics::Statistics;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use timewise_abi::tracing::TRAP_PERF;
use timewise_image::sanitiser;
use timewise_injection::{Payload, PayloadFault, payload};
use timewise_profile::{Profile, RunId, RunKind};
use timewise_target::attachable::AttachError;
use timewise_target::first_instruction::{self, NoFirstInstruction};
use timewise_target::launch::{LaunchError, Stopped};
use timewise_target::maps;
use timewise_target::perf::Event;
use timewise_target::remedy::raised_limit;
use timewise_target::run::{self, outlived_by};
use timewise_target::subject::{self, Subject};
use timewise_target::trace::Tracee;

/// How long the end of a program is waited for at a time.
const PAUSE: Duration = Duration::from_secs(1);

/// Why a program could not be traced.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The program could not be launched.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A process that runs already could not be taken over.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The system refused something that tracing needs.
    #[error("cannot {what}: {cause}; {}", timewise_target::remedy::remedy(.cause))]
    System {
        /// The operation.
        what: &'static str,
        /// The system's reason.
        cause: io::Error,
    },
    /// The first instruction is nowhere.
    #[error(transparent)]
    NoFirstInstruction(#[from] NoFirstInstruction),
    /// The program may not have the tracer's memory.
    #[error("{}; sample it: timewise sample …", timewise_target::attachable::WRITABLE_CODE_DENIED)]
    WritableCodeDenied,
    /// The kernel refused the events that tracing is made of.
    #[error("cannot open performance events that send signals: {0}; {needs}", needs = what_events_need(.0))]
    Events(io::Error),
    /// What goes into the program is unusable: a fault of the build.
    #[error(transparent)]
    Payload(#[from] PayloadFault),
}

fn what_events_need(refused: &io::Error) -> &'static str {
    match refused.raw_os_error() {
        Some(libc::ENOSPC) => {
            "somebody has set breakpoints of the processor in it, as debuggers do; end that first"
        }
        _ => raised_limit(refused)
            .unwrap_or("they need Linux 5.13, and kernel.perf_event_paranoid at 2 or less, or CAP_PERFMON"),
    }
}

/// How to trace.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Taken branches of a trace.
    pub length: u32,
    /// CPU time of a thread from the end of one trace to the start of the next, on average, nanoseconds.
    pub period_ns: u64,
    /// Where traces are to start at the kernel's timer ticks, the time between two of these, nanoseconds
    /// ([`timewise_target::machine::timer_tick_ns`]); 0 where they start at any moment.
    pub timer_tick_ns: u64,
    /// Of so many traces that need no breakpoint, because all their branches follow from the state of a process with
    /// one thread, one is confirmed by a breakpoint all the same; 0 for none.
    pub confirm: u32,
}

impl Default for Options {
    /// As published: traces as long as a last-branch record, a hundred in a second.
    fn default() -> Options {
        Options { length: 16, period_ns: 10_000_000, timer_tick_ns: 0, confirm: 16 }
    }
}

/// What a traced run gives.
#[derive(Debug)]
pub struct Traced {
    /// One run of kind [`RunKind::Branches`] with the branches that were seen. What a reader must know to trust
    /// them is in [`timewise_profile::Run::warnings`].
    pub profile: Profile,
    /// What it came to, and what it took.
    pub statistics: Statistics,
    /// Processes that it made, by id, those that have ended included.
    pub(crate) made: BTreeSet<i32>,
}

impl Traced {
    /// Takes over what was seen of the processes that were followed, and a fault on the way, if there was one.
    pub(crate) fn follow(&mut self, followed: Followed) {
        if let Some(fault) = followed.fault {
            std::panic::resume_unwind(fault);
        }
        followed.traced.into_iter().for_each(|other| self.join(other));
        self.made.extend(followed.seen);
        self.profile.runs[0].warnings.extend(followed.refused);
    }

    /// Takes over what was seen in another process of the same run.
    fn join(&mut self, other: Traced) {
        let own = self.profile.processes.len();
        self.profile.append(other.profile);
        self.profile.processes[own..].iter_mut().for_each(|process| process.run = RunId(0));
        for other in self.profile.runs.split_off(1) {
            let known = &mut self.profile.runs[0].warnings;
            for warning in other.warnings {
                if !known.contains(&warning) {
                    known.push(warning);
                }
            }
        }
        self.statistics += other.statistics;
        self.made.extend(other.made);
    }

    /// Says what a reader must know of all that was traced, and so if that is nothing.
    pub(crate) fn tell_doubts(&mut self) {
        let run = &mut self.profile.runs[0];
        run.warnings.extend(self.statistics.doubts(run.kernel_ns));
        if self.statistics.branches == 0 {
            let ms = (run.user_ns + run.kernel_ns) as f64 / 1e6;
            let advice = match self.statistics.restricted {
                0 => "; repeat its work, or raise --frequency",
                _ => "; timewise count goes on where tracing has to end",
            };
            run.warnings
                .push(format!("no branches were seen: the program used {ms:.1} ms of CPU time{advice}"));
        }
    }
}

/// Lets a launched program run to its end under branch tracing. The calling thread must be the one that
/// launched it. All its threads are traced, what it executes later, and the programs that its children execute.
///
/// # Errors
/// See [`TraceError`]; the program is ended then unless it already ran.
pub fn record(stopped: Stopped, options: &Options) -> Result<Traced, TraceError> {
    let system = |what| move |cause| TraceError::System { what, cause };
    let pid = stopped.pid();
    let tracee = Tracee::new(pid);
    let prepare = || {
        let subject = Subject::of(pid as u32).map_err(system("read what the program is"))?;
        let executable = PathBuf::from(format!("/proc/{pid}/exe"));
        if let Some(sanitiser) = sanitiser(&executable) {
            return Err(LaunchError::no_room(&executable, sanitiser).into());
        }
        let begins_at = tracee.registers().map_err(system("read registers"))?.rip;
        let mappings = maps::executable(pid).map_err(system("read memory maps"))?;
        first_instruction::check(tracee, begins_at, &mappings)?;
        let payload = payload::load()?;
        let rings = Rings::new(&payload, options, pid)?;
        let pick_up = pick_up::open(pid).map_err(TraceError::Events)?;
        inject(&rings, &payload, tracee)?;
        pick_up.enable().map_err(TraceError::Events)?;
        Ok::<_, TraceError>((subject, payload, rings, pick_up))
    };
    let (subject, payload, rings, pick_up) = prepare()?;
    let mut collector = Collector::new(&rings, pid, true);
    load(tracee, &rings, &payload, pick_up, &mut collector)?;
    let followers = Followers::begin(pid, *options).map_err(system("start a thread"))?;
    let running = stopped.release().map_err(system("release the program"))?;
    let followed = collector.follow(|pause| running.ends_within(pause));
    followed.map_err(system("wait for the program"))?;
    collector.close_events();
    while !running.ends_within(PAUSE).map_err(system("wait for the program"))? {}
    let offspring_ticks = offspring::cpu_ticks(pid);
    let followed = followers.end();
    let ended = running.wait().map_err(system("wait for the program"))?;
    let mut traced = collector.finish(run::row(RunKind::Branches, subject, &ended));
    let untraced = offspring::untraced(offspring_ticks.saturating_sub(followed.cpu_ticks));
    traced.follow(followed);
    let left = offspring::still_running(&traced.made);
    traced.profile.runs[0].warnings.extend(untraced.into_iter().chain(outlived_by(left)));
    traced.tell_doubts();
    Ok(traced)
}

/// Lets the program's libraries be loaded, under tracing, and then watches which system calls it makes that concern us.
/// There is nothing to be watched if it ended before.
fn load(
    tracee: Tracee,
    rings: &Rings,
    payload: &Payload,
    pick_up: Event,
    collector: &mut Collector,
) -> Result<(), TraceError> {
    let system = |what| move |cause| TraceError::System { what, cause };
    let pid = tracee.tid();
    if !reach_entry(tracee, collector).map_err(system("let the program's libraries be loaded"))? {
        return Ok(());
    }
    if !has_trap(pid, pid, Set::Caught) {
        // A library took the handler away. The signal that comes at fixed moments is switched off meanwhile; samples
        // come with time in the program's own code, of which none passes here.
        pick_up.disable().map_err(TraceError::Events)?;
        set_handler(rings, payload, tracee).map_err(system("set a signal handler in the program"))?;
        pick_up.enable().map_err(TraceError::Events)?;
    }
    let guarded = guard::places(pid).map_err(system("read the program's memory"))?;
    rings.guard(&guarded);
    let guards = guarded.into_iter().map(|place| guard::open(pid, place).map_err(TraceError::Events));
    collector.keep_events(guards.collect::<Result<Vec<Event>, _>>()?);
    collector.keep_pick_ups(vec![pick_up]);
    Ok(())
}

/// Lets the program run to where it begins itself, with its libraries loaded: false if it ended before.
fn reach_entry(tracee: Tracee, collector: &mut Collector) -> io::Result<bool> {
    let entry = subject::entry_point(tracee.tid())?;
    if tracee.registers()?.rip == entry {
        return Ok(true);
    }
    tracee.run_to(entry, |signal| {
        collector.drain();
        // Nobody guards the handler yet: a library that takes it away must not meet what is not its own.
        let is_ours = signal == libc::SIGTRAP && tracee.signal_code().is_ok_and(|code| code == TRAP_PERF);
        let is_handled = has_trap(tracee.tid(), tracee.tid(), Set::Caught);
        if is_ours && !is_handled { 0 } else { signal }
    })
}
