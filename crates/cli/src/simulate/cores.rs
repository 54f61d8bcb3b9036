//! The program, and beside it a core for each of its threads.

use super::streams::Streams;
use super::traced::Tracing;
use anyhow::ensure;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use timewise_attribution::comparison::Findings;
use timewise_attribution::event_counts::EventCounts;
use timewise_attribution::policy::TimeProportional;
use timewise_attribution::{Comparison, Profiler, Schedule, Stacks};
use timewise_core_model::{Code, Processor, Sampling, SimulationError, Totals};
use timewise_engine::Options;
use timewise_engine::streams::{Places, Windows};
use timewise_profile::{Offset, Place, Profile, SimulatedPart, SimulatedThread, SimulationId};
use timewise_replay::Replay;
use timewise_target::launch::Stopped;
use timewise_trace::{Record, Worker};

/// Instructions before each window, of those that pass, that leave their traces in caches and predictors: without them
/// short windows would mostly show how a core begins that knows nothing.
const WARMING: u64 = 4_000_000;

/// What looks at the commit stage of a thread's core.
pub struct Watch {
    /// Every cycle, where nothing is compared with it.
    alone: Option<Profiler<TimeProportional>>,
    /// Every cycle, and what profilers find that sample.
    compared: Option<Comparison>,
    /// Executions.
    counts: EventCounts,
}

impl Watch {
    /// A watch that has seen nothing.
    pub fn new(schedule: Option<&Schedule>) -> Watch {
        Watch {
            alone: schedule.is_none().then(Profiler::oracle),
            compared: schedule.cloned().map(Comparison::new),
            counts: EventCounts::default(),
        }
    }
}

impl Worker<Record> for Watch {
    fn take(&mut self, part: &[Record]) {
        Worker::take(&mut self.alone, part);
        Worker::take(&mut self.compared, part);
        self.counts.take(part);
    }
}

/// What was seen of all cores, by the numbers that the simulation gives instructions.
#[derive(Default)]
pub struct Found {
    /// Cycle stacks, where nothing is compared with them.
    alone: Stacks,
    /// The same, and what profilers find that sample.
    pub compared: Option<Findings>,
    /// Executions.
    pub counts: EventCounts,
}

impl Found {
    /// Adds what was seen of one of them.
    pub fn add(&mut self, watch: &Watch) {
        self.counts.merge(&watch.counts);
        if let Some(alone) = &watch.alone {
            self.alone.merge(alone.stacks());
        }
        let Some(findings) = watch.compared.as_ref().map(Comparison::findings) else { return };
        match &mut self.compared {
            Some(all) => all.merge(&findings),
            none => *none = Some(findings),
        }
    }

    /// Cycle stacks.
    pub fn stacks(&self) -> &Stacks {
        self.compared.as_ref().map_or(&self.alone, |compared| &compared.reference)
    }
}

/// A thread of a program, on a core of its own.
pub struct Thread {
    /// The process image, as streams name it.
    pub image: u64,
    /// Its place in the shared memory, likewise; one that began where another had ended has that one's.
    pub area: u64,
    /// Whether it is the one that its process began with.
    pub is_first: bool,
    /// Its id.
    pub tid: u32,
    /// What its core did.
    pub totals: Totals,
}

/// What a simulation leaves behind.
pub struct Done {
    /// All threads.
    threads: Vec<Thread>,
    /// What was seen of their cores.
    pub found: Found,
    code: Code,
    places: Places,
    elapsed: Duration,
}

impl Done {
    /// Where the instruction stands that the simulation gave this number.
    pub fn place(&self, instruction: u32) -> Option<Place> {
        let origin = self.code.origin(instruction);
        let block = self.places.place(origin.image, origin.block)?;
        Some(Place { offset: Offset(block.offset.0 + u64::from(origin.offset)), ..block })
    }

    /// The rows of threads that executed something of what was simulated: by the program that they executed, in the
    /// order in which these began.
    pub fn rows(&self, simulation: SimulationId) -> Vec<SimulatedThread> {
        let simulated = self.threads.iter().filter(|thread| thread.totals.instructions > 0);
        let mut simulated: Vec<&Thread> = simulated.collect();
        // Ids grow until they come to their limit.
        simulated.sort_by_key(|thread| (thread.image, !thread.is_first, thread.tid));
        let images: BTreeSet<u64> = simulated.iter().map(|thread| thread.image).collect();
        let row = |thread: &Thread| {
            Some(SimulatedThread {
                simulation,
                thread: self.places.thread(thread.area)?,
                image: images.range(..thread.image).count() as u32,
                executable: self.places.executable(thread.image).to_vec(),
                instructions: thread.totals.instructions,
                cycles: thread.totals.cycles,
            })
        };
        simulated.into_iter().filter_map(row).collect()
    }

    /// Where that instruction stood in its process.
    pub fn address(&self, instruction: u32) -> u64 {
        self.code.get(instruction).address
    }

    /// How many instructions have numbers.
    pub fn numbered(&self) -> u32 {
        self.code.len() as u32
    }

    /// Instructions and cycles of all threads together.
    pub fn totals(&self) -> (u64, u64) {
        let sum = |of: fn(&Totals) -> u64| self.threads.iter().map(|thread| of(&thread.totals)).sum();
        (sum(|totals| totals.instructions), sum(|totals| totals.cycles))
    }

    /// Millions of instructions a second.
    pub fn speed(&self) -> (Duration, f64) {
        (self.elapsed, self.totals().0 as f64 / 1e6 / self.elapsed.as_secs_f64().max(1e-9))
    }
}

/// Runs the program to its end, and simulates a part of it. Profilers are compared if there is a schedule of samples,
/// and traces written where that is asked for.
pub fn simulate(
    stopped: Stopped,
    processor: &Processor,
    part: SimulatedPart,
    schedule: Option<&Schedule>,
    tracing: Option<&mut Tracing>,
) -> anyhow::Result<(Profile, Done)> {
    let began = Instant::now();
    let (warmed, length) = (part.skipped.min(WARMING), part.length.unwrap_or(u64::MAX));
    let sampling = Sampling { warmed, executed: length.min(u64::MAX - warmed) };
    let mut streams = Streams::new(processor, sampling, schedule, tracing)?;
    let mut replay = Replay::new(true);
    let mut makes_sense = true;
    let options = Options { calls: false, ..Options::default() };
    let (skip, windows) = (part.skipped - warmed, part.windows);
    let windows = Windows { skip, length: length.saturating_add(warmed), windows, memory: true };
    let (counted, is_whole) = timewise_engine::stream(stopped, &options, windows, |chunk| {
        makes_sense = makes_sense && streams.chunk(&mut replay, chunk);
    })?;
    ensure!(makes_sense, SimulationError::Damaged);
    let (threads, found, code) = streams.finish();
    let mut profile = counted.profile;
    if !is_whole {
        profile.runs[0].warnings.push("some of what was executed was not simulated".to_string());
    }
    Ok((profile, Done { threads, found, code, places: counted.places, elapsed: began.elapsed() }))
}
