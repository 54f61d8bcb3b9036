//! From the streams of a run to a core for each thread. A core goes when its thread has ended: only those of threads
//! that run are kept, however many come one after the other.

use super::cores::{Found, Thread, Watch};
use super::traced::Tracing;
use std::collections::{BTreeMap, HashMap};
use timewise_attribution::Schedule;
use timewise_core_model::{Code, Core, Processor, ProcessorError, Sampling, number};
use timewise_engine::streams::Chunk;
use timewise_replay::{Event, Executed, Replay};
use timewise_trace::{Doctor, Recorder, Room, Seat};

/// The cores of a run, and what was seen of those that have ended.
pub struct Streams<'a> {
    processor: &'a Processor,
    sampling: Sampling,
    schedule: Option<&'a Schedule>,
    tracing: Option<&'a mut Tracing>,
    code: Code,
    /// By image, for each block the number of its first instruction.
    blocks: HashMap<u64, Vec<Option<u32>>>,
    /// By stream.
    running: BTreeMap<usize, Running>,
    /// Of each stream, how many threads had cores.
    turns: BTreeMap<usize, usize>,
    threads: Vec<Thread>,
    found: Found,
}

/// A thread that runs, as far as is known.
struct Running {
    tid: u32,
    /// Instructions of its present window until now.
    position: u64,
    /// None until it has executed something of what is simulated.
    core: Option<(Core<Recorder>, Seat<Watch>)>,
}

impl<'a> Streams<'a> {
    /// No cores yet.
    ///
    /// # Errors
    /// If the processor's record names what is not there.
    pub fn new(
        processor: &'a Processor,
        sampling: Sampling,
        schedule: Option<&'a Schedule>,
        tracing: Option<&'a mut Tracing>,
    ) -> Result<Streams<'a>, ProcessorError> {
        let mut code = Code::new(processor)?;
        let watched = tracing.as_ref().map_or(Vec::new(), |tracing| tracing.watched.clone());
        watched.into_iter().for_each(|(address, numbers)| code.watch(address, numbers));
        Ok(Streams {
            processor,
            sampling,
            schedule,
            tracing,
            code,
            blocks: HashMap::new(),
            running: BTreeMap::new(),
            turns: BTreeMap::new(),
            threads: Vec::new(),
            found: Found::default(),
        })
    }

    /// Executes what a chunk tells of. `replay` must have seen all chunks before. False if it makes no sense.
    pub fn chunk(&mut self, replay: &mut Replay, chunk: &Chunk) -> bool {
        let mut blocks = self.blocks.remove(&chunk.image).unwrap_or_default();
        let mut running = self.running.remove(&chunk.stream).unwrap_or_else(|| Running::new(chunk.pid));
        let makes_sense = replay.chunk(chunk, |event| match event {
            Event::Thread { tid } => {
                let before = std::mem::replace(&mut running, Running::new(tid));
                self.end(chunk, before);
            }
            // The thread may have ended its window early.
            Event::Begin { .. } => running.position = 0,
            Event::Executed(step) => self.step(chunk, &mut blocks, &mut running, &step),
            _ => {}
        });
        self.blocks.insert(chunk.image, blocks);
        match chunk.is_last {
            true => self.end(chunk, running),
            false => drop(self.running.insert(chunk.stream, running)),
        }
        makes_sense
    }

    /// What there was, once all streams have come to their ends.
    pub fn finish(self) -> (Vec<Thread>, Found, Code) {
        (self.threads, self.found, self.code)
    }

    #[inline]
    fn step(&mut self, chunk: &Chunk, blocks: &mut Vec<Option<u32>>, running: &mut Running, step: &Executed) {
        let Some(number) = number(&mut self.code, blocks, chunk, step) else { return };
        let Sampling { warmed, executed } = self.sampling;
        let position = running.position;
        running.position += 1;
        let (core, _) = match &mut running.core {
            Some(core) => core,
            none => none.insert(self.begin(chunk)),
        };
        match position % (warmed + executed) < warmed {
            true => core.warm(&self.code, number, step.accesses),
            false => core.step(&self.code, number, step.accesses),
        }
    }

    #[cold]
    fn begin(&mut self, chunk: &Chunk) -> (Core<Recorder>, Seat<Watch>) {
        let turn = self.turns.entry(chunk.stream).or_default();
        *turn += 1;
        let mut doctor = Doctor::new(Room::default());
        let seat = doctor.attach(Watch::new(self.schedule));
        if let Some(tracing) = &mut self.tracing {
            tracing.attach((chunk.stream + 1, *turn), &mut doctor);
        }
        (Core::new(self.processor, &self.code, Recorder::new(doctor)), seat)
    }

    /// A thread has ended, at the latest with this chunk of its stream.
    #[cold]
    fn end(&mut self, chunk: &Chunk, running: Running) {
        let Some((core, seat)) = running.core else { return };
        let (recorder, totals) = core.finish();
        recorder.finish();
        self.found.add(&seat.join());
        if let (Some(tracing), Some(turn)) = (&mut self.tracing, self.turns.get(&chunk.stream)) {
            tracing.detach((chunk.stream + 1, *turn));
        }
        let Chunk { image, area, pid, .. } = *chunk;
        self.threads.push(Thread { image, area, is_first: running.tid == pid, tid: running.tid, totals });
    }
}

impl Running {
    fn new(tid: u32) -> Running {
        Running { tid, position: 0, core: None }
    }
}
