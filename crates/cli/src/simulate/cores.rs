//! The program, and beside it a core for each of its threads.

use super::traced::Tracing;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use timewise_attribution::event_counts::EventCounts;
use timewise_attribution::policy::TimeProportional;
use timewise_attribution::{Comparison, Profiler, Schedule, Stacks};
use timewise_core_model::{Code, Processor, Sampling, Simulation, Totals};
use timewise_engine::Options;
use timewise_engine::streams::{Places, Windows};
use timewise_profile::{Offset, Place, Profile, SimulatedPart, SimulatedThread, SimulationId};
use timewise_replay::Replay;
use timewise_target::launch::Stopped;
use timewise_trace::{Doctor, Record, Recorder, Room, Seat, Worker};

/// Instructions before each window, of those that pass, that leave their traces in caches and predictors: without them
/// short windows would mostly show how a core begins that knows nothing.
const WARMING: u64 = 4_000_000;

/// What looks at the commit stage of a thread's core.
pub struct Watch {
    /// Every cycle, where nothing is compared with it.
    alone: Option<Profiler<TimeProportional>>,
    /// Every cycle, and what profilers find that sample.
    pub compared: Option<Comparison>,
    /// Executions.
    pub counts: EventCounts,
}

impl Watch {
    fn new(schedule: Option<&Schedule>) -> Watch {
        Watch {
            alone: schedule.is_none().then(Profiler::oracle),
            compared: schedule.cloned().map(Comparison::new),
            counts: EventCounts::default(),
        }
    }

    /// Cycle stacks by the numbers that the simulation gives instructions.
    pub fn stacks(&self) -> Stacks {
        match (&self.alone, &self.compared) {
            (Some(alone), _) => alone.stacks().clone(),
            (None, Some(compared)) => compared.findings().reference,
            (None, None) => Stacks::default(),
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

/// A thread of a program, on a core of its own.
pub struct Thread {
    /// The process image, as streams name it.
    image: u64,
    /// Its place in the shared memory, likewise.
    area: u64,
    /// What was seen of its core.
    pub watch: Watch,
    /// What its core did.
    pub totals: Totals,
}

/// What a simulation leaves behind.
pub struct Done {
    /// All threads, in the order in which they began.
    pub threads: Vec<Thread>,
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
        let images: BTreeSet<u64> = simulated.clone().map(|thread| thread.image).collect();
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
        let mut rows: Vec<SimulatedThread> = simulated.filter_map(row).collect();
        rows.sort_by_key(|row| (row.image, row.thread));
        rows
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
    mut tracing: Option<&mut Tracing>,
) -> anyhow::Result<(Profile, Done)> {
    let began = Instant::now();
    let mut seats: BTreeMap<usize, Seat<Watch>> = BTreeMap::new();
    let (warmed, length) = (part.skipped.min(WARMING), part.length.unwrap_or(u64::MAX));
    let sampling = Sampling { warmed, executed: length.min(u64::MAX - warmed) };
    let watched = tracing.as_ref().map_or(Vec::new(), |tracing| tracing.watched.clone());
    let simulation = Simulation::new(processor, |stream| {
        let mut doctor = Doctor::new(Room::default());
        seats.insert(stream, doctor.attach(Watch::new(schedule)));
        if let Some(tracing) = &mut tracing {
            tracing.attach(stream, &mut doctor);
        }
        Recorder::new(doctor)
    })?;
    let simulation = simulation.sample(sampling);
    let watch = |simulation: Simulation<_, _>, (address, numbers)| simulation.watch(address, numbers);
    let mut simulation = watched.into_iter().fold(simulation, watch);
    let mut replay = Replay::new(true);
    let (mut failure, mut streams) = (None, BTreeMap::new());
    let options = Options { calls: false, ..Options::default() };
    let (skip, windows) = (part.skipped - warmed, part.windows);
    let windows = Windows { skip, length: length.saturating_add(warmed), windows, memory: true };
    let (counted, is_whole) = timewise_engine::stream(stopped, &options, windows, |chunk| {
        streams.insert(chunk.stream, (chunk.image, chunk.area));
        if failure.is_none() {
            failure = simulation.chunk(&mut replay, chunk).err();
        }
    })?;
    let (cores, code) = simulation.finish();
    let elapsed = began.elapsed();
    let mut threads = Vec::new();
    for (stream, recorder, totals) in cores {
        recorder.finish();
        if let (Some(seat), Some(&(image, area))) = (seats.remove(&stream), streams.get(&stream)) {
            threads.push(Thread { image, area, watch: seat.join(), totals });
        }
    }
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    let mut profile = counted.profile;
    if !is_whole {
        profile.runs[0].warnings.push("some of what was executed was not simulated".to_string());
    }
    Ok((profile, Done { threads, code, places: counted.places, elapsed }))
}
