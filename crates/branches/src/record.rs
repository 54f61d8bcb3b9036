//! Tracing a program from its first instruction to its end.

use crate::aggregate::Aggregate;
use crate::guard;
use crate::inject::inject;
use crate::modules::Modules;
use crate::pick_up;
use crate::rings::Rings;
use crate::statistics::Statistics;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use timewise_abi::tracing::End;
use timewise_injection::{PayloadFault, payload};
use timewise_profile::{Process, ProcessId, Profile, RunId, RunKind};
use timewise_target::launch::{Ended, LaunchError, Running, Stopped};
use timewise_target::run;
use timewise_target::subject::{self, Subject};
use timewise_target::trace::Tracee;

/// Why a program could not be traced.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The program could not be launched.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The system refused something that tracing needs.
    #[error("cannot {what}: {cause}; {}", timewise_target::remedy::remedy(.cause))]
    System {
        /// The operation.
        what: &'static str,
        /// The system's reason.
        cause: io::Error,
    },
    /// The kernel refused the events that tracing is made of.
    #[error(
        "cannot open performance events that send signals: {0}; they need Linux 5.13, and \
         kernel.perf_event_paranoid at 2 or less, or CAP_PERFMON"
    )]
    Events(io::Error),
    /// What goes into the program is unusable: a fault of the build.
    #[error(transparent)]
    Payload(#[from] PayloadFault),
}

/// How to trace.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Taken branches of a trace.
    pub length: u32,
    /// CPU time of a thread from the end of one trace to the start of the next, on average, nanoseconds.
    pub period_ns: u64,
    /// Of so many traces that need no breakpoint, because all their branches follow from the state of a process with
    /// one thread, one is confirmed by a breakpoint all the same; 0 for none.
    pub confirm: u32,
}

impl Default for Options {
    /// As published: traces as long as a last-branch record, a hundred in a second.
    fn default() -> Options {
        Options { length: 16, period_ns: 10_000_000, confirm: 16 }
    }
}

/// What a traced run gives.
#[derive(Debug)]
pub struct Traced {
    /// How the program ended.
    pub ended: Ended,
    /// One run of kind [`RunKind::Branches`] with the branches that were seen. What a reader must know to trust
    /// them is in [`timewise_profile::Run::warnings`].
    pub profile: Profile,
    /// What it came to, and what it took.
    pub statistics: Statistics,
}

/// How often rings are emptied. At the highest rate that breakpoints allow, a ring is full after a quarter of a
/// second.
const COLLECTION: Duration = Duration::from_millis(5);

/// How often a process is asked what it has mapped, after its first moments, in which it loads its libraries.
const MAPS: Duration = Duration::from_millis(50);

/// Lets a launched program run to its end under branch tracing. The calling thread must be the one that
/// launched it. All threads of the process are traced; processes that it makes are not.
///
/// # Errors
/// See [`TraceError`]; the program is ended then unless it already ran.
pub fn record(stopped: Stopped, options: &Options) -> Result<Traced, TraceError> {
    let system = |what| move |cause| TraceError::System { what, cause };
    let pid = stopped.pid();
    let prepare = || {
        let subject = Subject::of(pid as u32).map_err(system("read what the program is"))?;
        let entered = reach_entry(pid).map_err(system("let the program's libraries be loaded"))?;
        let executable = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let payload = payload::load()?;
        let guarded = if entered {
            guard::places(pid).map_err(system("read the program's memory"))?
        } else {
            Vec::new()
        };
        let rings = Rings::new(&payload, options, &guarded)?;
        if !entered {
            return Ok((subject, executable, rings, Vec::new()));
        }
        let pick_up = pick_up::open(pid).map_err(TraceError::Events)?;
        inject(&rings, &payload, pid)?;
        match rings.header().refusal.load(Ordering::Relaxed) {
            0 => {}
            error => return Err(TraceError::Events(io::Error::from_raw_os_error(error as i32))),
        }
        let mut events = Vec::new();
        for place in guarded {
            events.push(guard::open(pid, place).map_err(TraceError::Events)?);
        }
        pick_up.enable().map_err(TraceError::Events)?;
        events.push(pick_up);
        Ok((subject, executable, rings, events))
    };
    let (subject, executable, rings, events) = match prepare() {
        Ok(prepared) => prepared,
        Err(error) => {
            stopped.kill();
            return Err(error);
        }
    };
    let mut modules = Modules::of(pid);
    modules.apply(modules.change().unwrap_or_default());
    let running = stopped.release().map_err(system("release the program"))?;
    let mut collector = Collector { rings: &rings, modules, aggregate: Aggregate::default(), senseless: 0 };
    collector.follow(&running).map_err(system("wait for the program"))?;
    drop(events);
    let ended = running.wait().map_err(system("wait for the program"))?;
    let run = run::row(RunKind::Branches, subject, &ended);
    let (mut profile, statistics, mut warnings) = collector.finish();
    warnings.extend(doubts(&statistics, rings.header().refusal.load(Ordering::Relaxed)));
    let path = std::os::unix::ffi::OsStringExt::into_vec(executable.into_os_string());
    profile.processes.push(Process {
        run: RunId(0),
        pid: pid as u32,
        parent: None,
        executable: path,
        exit: run.exit,
        count_uncertainty: 0,
    });
    profile.runs.push(timewise_profile::Run { warnings, ..run });
    Ok(Traced { ended, profile, statistics })
}

/// Lets the program run to where it begins itself, with its libraries loaded: false if it ended before.
fn reach_entry(pid: i32) -> io::Result<bool> {
    let (tracee, entry) = (Tracee::new(pid), subject::entry_point(pid)?);
    if tracee.registers()?.rip == entry { Ok(true) } else { tracee.run_to(entry) }
}

/// Takes traces out of the rings while the program runs.
struct Collector<'a> {
    rings: &'a Rings,
    modules: Modules,
    aggregate: Aggregate,
    senseless: u64,
}

impl Collector<'_> {
    fn follow(&mut self, running: &Running) -> io::Result<()> {
        let started = Instant::now();
        let mut looked = started;
        // In its first moments a program loads its libraries: it is looked at often.
        let mut pause = Duration::from_micros(500);
        loop {
            let ended = running.ends_within(pause)?;
            self.look_at_threads();
            self.drain();
            let due = looked.elapsed() >= MAPS.min(started.elapsed() / 4);
            if !ended && (due || self.aggregate.has_unplaced(&self.modules)) {
                self.look_at_mappings();
                looked = Instant::now();
            }
            if ended {
                return Ok(());
            }
            pause = (pause * 2).min(COLLECTION);
        }
    }

    fn drain(&mut self) {
        let aggregate = &mut self.aggregate;
        self.senseless += self.rings.drain(|timing, branches| aggregate.add(timing, branches));
    }

    /// Once there are threads, what one reads may be what another wrote meanwhile.
    fn look_at_threads(&self) {
        let threads = self.modules.threads();
        if threads.is_some_and(|threads| threads > 1) {
            self.rings.header().alone.store(0, Ordering::Relaxed);
        }
    }

    fn look_at_mappings(&mut self) {
        let Some(present) = self.modules.change() else { return };
        self.drain();
        // What ran in code that is known keeps its place; the rest lies in what is new.
        self.aggregate.settle_known(&self.modules);
        self.modules.apply(present);
    }

    /// What was collected: modules and branches, what it took, and what is wrong with it.
    fn finish(mut self) -> (Profile, Statistics, Vec<String>) {
        self.drain();
        self.aggregate.settle(&self.modules);
        let mut statistics = self.rings.statistics();
        statistics.traces = self.aggregate.traces;
        statistics.branches = self.aggregate.branches;
        statistics.unplaced = self.aggregate.unplaced;
        let warnings = match self.senseless {
            0 => Vec::new(),
            count => vec![format!(
                "the program wrote into the memory of the tracer: traces were given up {count} times"
            )],
        };
        let taken_branches = self.aggregate.into_rows(ProcessId(0));
        let profile = Profile { modules: self.modules.into_vec(), taken_branches, ..Profile::default() };
        (profile, statistics, warnings)
    }
}

/// What a reader must know.
fn doubts(statistics: &Statistics, refusal: u32) -> Vec<String> {
    let mut doubts = Vec::new();
    let mut doubt = |count: u64, what: String| {
        if count > 0 {
            doubts.push(what);
        }
    };
    let Statistics { begun, lost, unplaced, branches, turned_away, .. } = *statistics;
    doubt(lost, format!("{lost} samples gave no trace, because earlier ones had not been collected"));
    doubt(
        unplaced,
        format!("{unplaced} of {branches} branches are left out: they lie in code that was gone or unknown"),
    );
    doubt(turned_away, "more threads at once than can be traced: some were left out".to_string());
    let refused = statistics.ended(End::Refused);
    doubt(
        u64::from(refusal),
        format!(
            "the system refused events to a thread: {}; {refused} traces ended there",
            io::Error::from_raw_os_error(refusal as i32)
        ),
    );
    let unreadable = statistics.ended(End::Unreadable);
    let most = u64::from(unreadable * 10 > begun) * unreadable;
    let otherwise = statistics.ended(End::Otherwise);
    doubt(
        otherwise,
        format!(
            "{otherwise} traces ended because the program went on otherwise than what was evaluated ahead"
        ),
    );
    doubt(most, format!("{unreadable} of {begun} traces ended at code or memory that could not be read"));
    doubts
}
