//! The program, and beside it a core for each of its threads.

use super::traced::Tracing;
use super::watch::{Found, Thread, Watching};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use timewise_attribution::Schedule;
use timewise_core_model::{Code, Processor, Sampling, Simulation, Totals, Window};
use timewise_engine::Options;
use timewise_engine::streams::{Places, Windows};
use timewise_profile::{Offset, Place, Profile, SimulatedPart, SimulatedThread, SimulationId};
use timewise_replay::Replay;
use timewise_target::launch::Stopped;

/// Instructions before each window, of those that pass, that leave their traces in caches and predictors: without them
/// short windows would mostly show how a core begins that knows nothing.
const WARMING: u64 = 4_000_000;

/// What a simulation leaves behind.
pub struct Done {
    /// All threads.
    threads: Vec<Thread>,
    /// What was seen of their cores.
    pub found: Found,
    /// Instructions that all threads executed, if that is known exactly.
    pub executed: Option<u64>,
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

    /// The rows of threads that executed something of what was simulated, with their windows: by the program that they
    /// executed, in the order in which these began.
    pub fn rows(&self, simulation: SimulationId) -> Vec<(SimulatedThread, &[Window])> {
        let simulated = self.threads.iter().filter(|thread| thread.totals.instructions > 0);
        let mut simulated: Vec<&Thread> = simulated.collect();
        // Ids grow until they come to their limit.
        simulated.sort_by_key(|thread| (thread.image, !thread.is_first, thread.tid));
        let images: BTreeSet<u64> = simulated.iter().map(|thread| thread.image).collect();
        let numbers: BTreeMap<u64, u32> = images.into_iter().zip(0..).collect();
        let rows = simulated.into_iter().filter_map(|thread| {
            let row = SimulatedThread {
                simulation,
                thread: self.places.thread(thread.area)?,
                image: *numbers.get(&thread.image)?,
                executable: self.places.executable(thread.image).to_vec(),
                instructions: thread.totals.instructions,
                cycles: thread.totals.cycles,
            };
            Some((row, thread.windows.as_slice()))
        });
        rows.collect()
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
    let mut simulation = Simulation::new(processor, sampling)?;
    let watched = tracing.as_ref().map_or(Vec::new(), |tracing| tracing.watched.clone());
    watched.into_iter().for_each(|(address, numbers)| simulation.watch(address, numbers));
    let mut watching = Watching::new(schedule, tracing);
    let (mut replay, mut failed) = (Replay::new(true), None);
    let options = Options { calls: false, ..Options::default() };
    let (skip, windows) = (part.skipped - warmed, part.windows.unwrap_or(Windows::MOST));
    let windows = Windows { skip, length: length.saturating_add(warmed), windows, memory: true };
    let (counted, is_whole) = timewise_engine::stream(stopped, &options, windows, |chunk| {
        if failed.is_none() {
            let watching = RefCell::new(&mut watching);
            let begin = |turn| watching.borrow_mut().begin(turn);
            let end = |thread| watching.borrow_mut().end(thread);
            failed = simulation.chunk(&mut replay, chunk, begin, end).err();
        }
    })?;
    failed.map_or(Ok(()), Err)?;
    let (threads, found) = watching.finish();
    let code = simulation.finish();
    let mut profile = counted.profile;
    if !is_whole {
        profile.runs[0].warnings.push("some of what was executed was not simulated".to_string());
    }
    let is_exact = is_whole && profile.runs.iter().all(|run| run.counts_complete);
    let executed = profile.threads.iter().map(|thread| thread.instructions).sum::<Option<u64>>();
    let executed = executed.filter(|_| is_exact);
    Ok((profile, Done { threads, found, executed, code, places: counted.places, elapsed: began.elapsed() }))
}
