//! Taking traces out of shared memory while the program runs, and what is to be known about them.

use crate::aggregate::Aggregate;
use crate::clock::Clock;
use crate::costs::Costs;
use crate::forked::has_tracer;
use crate::mappings::News;
use crate::modules::Modules;
use crate::pick_up;
use crate::plain::Plain;
use crate::record::Traced;
use crate::rings::Rings;
use crate::unmask::Unmask;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use timewise_abi::tracing::restriction;
use timewise_profile::{Process, ProcessId, Profile, Run, RunId};
use timewise_target::family;
use timewise_target::perf::Event;
use timewise_target::status::{ProgramImage, Status};

/// How often a process is asked what it has mapped and what its threads block, after its first moments, in which it
/// loads its libraries.
const LOOKS: Duration = Duration::from_millis(50);

/// What a reader must know where the kernel did not tell of each mapping.
const UNTOLD: &str =
    "the system did not tell of all code that was mapped: what lay at one place in turn may be mixed up";

/// Takes traces out of the rings while the program runs.
pub struct Collector<'a> {
    rings: &'a Rings,
    pid: i32,
    executable: PathBuf,
    clock: Clock,
    modules: Modules,
    aggregate: Aggregate,
    unmask: Unmask,
    plain: Plain,
    senseless: u64,
    image: ProgramImage,
    events: Vec<Event>,
    /// The event by which threads are picked up, while it comes seldom.
    slow: Option<Event>,
}

impl<'a> Collector<'a> {
    /// For process `pid`, which stands; `own_child` says whether it is one of ours.
    pub fn new(rings: &'a Rings, pid: i32, own_child: bool) -> Collector<'a> {
        let mut collector = Collector {
            rings,
            pid,
            executable: std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default(),
            clock: Clock::default(),
            modules: Modules::of(pid),
            aggregate: Aggregate::new(Costs::here()),
            unmask: Unmask::new(pid, own_child),
            plain: Plain::of(pid),
            senseless: 0,
            image: image(pid),
            events: Vec::new(),
            slow: None,
        };
        collector.clock.read();
        collector.look_at_threads();
        collector
    }

    /// Keeps events that were opened for the process, until it restricts its system calls, or until they are closed.
    pub fn keep_events(&mut self, events: Vec<Event>) {
        self.events = events;
    }

    /// Keeps likewise the events by which new threads are picked up, one of each thread that there is. That of the only
    /// one comes seldom until there are more, if samples do what it does otherwise: find out that a trace has got stuck.
    pub fn keep_pick_ups(&mut self, mut pick_ups: Vec<Event>) {
        if pick_ups.len() == 1 && self.rings.header().samples_go_on() {
            let tick_ns = &self.rings.header().tick_ns;
            self.slow = pick_ups.pop_if(|event| pick_up::slow_down(event, tick_ns).is_ok());
        }
        self.events.extend(pick_ups);
    }

    /// Closes these events.
    pub fn close_events(&mut self) {
        self.events.clear();
        self.slow = None;
    }

    /// Collects until `is_over`, which waits no longer than it is told, or until the process executes another program,
    /// where the tracer is not.
    ///
    /// # Errors
    /// Those of `is_over`.
    pub fn follow(&mut self, mut is_over: impl FnMut(Duration) -> io::Result<bool>) -> io::Result<()> {
        let started = Instant::now();
        let mut looked = started;
        // In its first moments a program loads its libraries: it is looked at often.
        let mut pause = Duration::from_micros(500);
        loop {
            let over = is_over(pause)?;
            self.look_at_threads();
            self.answer();
            self.drain();
            let due = looked.elapsed() >= LOOKS.min(started.elapsed() / 4);
            let hurry = self.modules.must_look() && self.aggregate.has_unplaced(&self.modules);
            if over || self.has_executed() {
                return Ok(());
            }
            if due || hurry {
                self.look_at_mappings();
                self.look_at_memory();
                if !self.rings.is_restricted() {
                    self.unmask.look(self.rings);
                }
                looked = Instant::now();
            }
            pause = (pause * 2).min(self.rings.collection());
        }
    }

    /// Takes out what there is.
    pub fn drain(&mut self) {
        // Traces first: the kernel has told by then of all that was mapped before they began.
        let mut traces = Vec::new();
        self.senseless += self.rings.drain(&mut traces);
        let news = self.modules.news();
        self.apply(news);
        if traces.is_empty() {
            return;
        }
        self.clock.read();
        for trace in &mut traces {
            trace.set_times(&self.clock);
            self.aggregate.add(trace, &self.modules);
        }
    }

    /// What ran in code that is known keeps its place; the rest lies in what is new.
    fn apply(&mut self, news: Vec<News>) {
        if !news.is_empty() {
            self.aggregate.settle_known(&self.modules);
            self.modules.apply_all(news);
        }
    }

    /// Once there are threads, what one reads may be what another wrote meanwhile.
    fn look_at_threads(&mut self) {
        if self.modules.threads().is_some_and(|threads| threads > 1) {
            self.rings.header().alone.store(0, Ordering::Relaxed);
            if let Some(event) = self.slow.take() {
                pick_up::speed_up(&event, self.pid, &self.rings.header().tick_ns, &mut self.events);
                self.events.push(event);
            }
        }
    }

    /// A thread that is about to restrict system calls waits for our events to be closed.
    pub fn answer(&mut self) {
        let state = &self.rings.header().restriction;
        if state.load(Ordering::SeqCst) == restriction::ANNOUNCED {
            self.close_events();
            let alone = family::threads(self.pid).len() == 1;
            let answer = if alone { restriction::ALONE } else { restriction::AMONG_THREADS };
            state.store(answer, Ordering::SeqCst);
        }
    }

    /// Whether it executes another program by now.
    fn has_executed(&self) -> bool {
        image(self.pid) != self.image && !has_tracer(self.pid)
    }

    fn look_at_mappings(&mut self) {
        if self.modules.must_look() || self.aggregate.has_unplaced(&self.modules) {
            // What the kernel told of comes first: it is older than what is found now, and would lie over it otherwise.
            self.drain();
            let news = self.modules.appeared();
            self.apply(news);
        }
    }

    /// Where there are several threads, the kernel reads all memory.
    fn look_at_memory(&mut self) {
        if self.rings.header().alone.load(Ordering::Relaxed) == 1 {
            self.plain.look(self.rings.plain_memory());
        }
    }

    /// What was collected, in a profile with one run, which is `run`.
    pub fn finish(mut self, run: Run) -> Traced {
        self.drain();
        self.aggregate.settle(&self.modules);
        let mut statistics = self.rings.statistics();
        statistics.traces = self.aggregate.traces;
        statistics.branches = self.aggregate.branches;
        statistics.unplaced = self.aggregate.unplaced;
        statistics.senseless = self.senseless;
        if self.rings.is_restricted() {
            // How its time after that is divided is not known.
            statistics.restricted = 1;
        } else {
            statistics.threads_made = self.modules.threads_made(self.rings.blind_ns());
        }
        let mut warnings = run.warnings.clone();
        if self.modules.must_look() {
            warnings.push(UNTOLD.to_string());
        }
        warnings.extend(self.unmask.doubt());
        let process = Process {
            run: RunId(0),
            pid: self.pid as u32,
            parent: None,
            executable: self.executable.into_os_string().into_vec(),
            exit: run.exit,
            count_uncertainty: 0,
        };
        let made = self.modules.made();
        let profile = Profile {
            runs: vec![Run { warnings, ..run }],
            processes: vec![process],
            modules: self.modules.into_vec(),
            taken_branches: self.aggregate.into_rows(ProcessId(0)),
            ..Profile::default()
        };
        Traced { profile, statistics, made }
    }
}

/// Which program a process executes.
fn image(pid: i32) -> ProgramImage {
    Status::of_process(pid).map(|status| status.image).unwrap_or_default()
}
