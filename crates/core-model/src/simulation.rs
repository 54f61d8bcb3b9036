//! From the streams of a run to cores that execute them.

use crate::code::Code;
use crate::core::{Core, Totals};
use crate::processor::{Processor, ProcessorError};
use std::collections::{BTreeMap, HashMap};
use timewise_engine::streams::Chunk;
use timewise_replay::{Event, Executed, Replay};
use timewise_trace::{Numbers, Observer};

/// Why a simulation does not go on.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// A chunk cannot be read.
    #[error("the stream of instructions is damaged: try again, and report it if it happens again")]
    Damaged,
}

/// The cores of a run: one for each thread, with caches of its own. A core goes when its thread has ended: only those of
/// threads that run are kept, however many come one after the other.
#[derive(Debug)]
pub struct Simulation<O> {
    processor: Processor,
    sampling: Sampling,
    code: Code,
    /// By image, for each block the number of its first instruction.
    blocks: HashMap<u64, Vec<Option<u32>>>,
    /// By stream.
    running: BTreeMap<usize, Running<O>>,
    /// Of each stream, how many threads had cores.
    turns: BTreeMap<usize, usize>,
}

/// A thread that runs, as far as is known.
#[derive(Debug)]
struct Running<O> {
    tid: u32,
    /// Instructions of its present window until now.
    position: u64,
    /// None until it has executed something.
    core: Option<(Turn, Core<O>)>,
}

/// Which thread of a run: streams are used again when threads have ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Turn {
    /// Its stream, from 1 on.
    pub stream: usize,
    /// Which of the stream's threads that executed something, from 1 on.
    pub thread: usize,
}

/// A thread that has ended.
#[derive(Debug)]
pub struct Ended<O> {
    /// Which one.
    pub turn: Turn,
    /// Its process image, as streams name it.
    pub image: u64,
    /// Its place in the memory that is shared with the runtime, likewise; one that begins where another has ended has
    /// that one's.
    pub area: u64,
    /// Its process.
    pub pid: u32,
    /// Its id.
    pub tid: u32,
    /// What saw its core's commit stage.
    pub observer: O,
    /// What its core did.
    pub totals: Totals,
}

/// Which instructions of each window of a stream are executed in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// So many only warm caches and predictors,
    pub warmed: u64,
    /// then so many are executed, at least one, and again.
    pub executed: u64,
}

impl Sampling {
    /// All of them.
    pub const ALL: Sampling = Sampling { warmed: 0, executed: u64::MAX };
}

impl<O: Observer> Simulation<O> {
    /// No cores yet.
    ///
    /// # Errors
    /// If the processor's record names what is not there.
    pub fn new(processor: &Processor, sampling: Sampling) -> Result<Simulation<O>, ProcessorError> {
        Ok(Simulation {
            code: Code::new(processor)?,
            processor: processor.clone(),
            sampling,
            blocks: HashMap::new(),
            running: BTreeMap::new(),
            turns: BTreeMap::new(),
        })
    }

    /// Tells all numbers that the instruction at this address, in whichever process, has in records.
    pub fn watch(&mut self, address: u64, numbers: Numbers) {
        self.code.watch(address, numbers);
    }

    /// Executes what a chunk tells of, and gives the threads that have ended with it. `replay` must have seen all chunks
    /// before, and streams memory. `begin` makes the observer of a thread's core.
    ///
    /// # Errors
    /// If the chunk makes no sense.
    pub fn chunk(
        &mut self,
        replay: &mut Replay,
        chunk: &Chunk,
        mut begin: impl FnMut(Turn) -> O,
    ) -> Result<Vec<Ended<O>>, SimulationError> {
        let mut ended = Vec::new();
        let mut blocks = self.blocks.remove(&chunk.image).unwrap_or_default();
        let mut running = self.running.remove(&chunk.stream).unwrap_or_else(|| Running::new(chunk.pid));
        let makes_sense = replay.chunk(chunk, |event| match event {
            Event::Thread { tid } => {
                let before = std::mem::replace(&mut running, Running::new(tid));
                ended.extend(before.end(chunk));
            }
            // The thread may have ended its window early.
            Event::Begin { .. } => running.position = 0,
            Event::Executed(step) => self.step(chunk, &mut blocks, &mut running, &step, &mut begin),
            _ => {}
        });
        self.blocks.insert(chunk.image, blocks);
        match chunk.is_last {
            true => ended.extend(running.end(chunk)),
            false => drop(self.running.insert(chunk.stream, running)),
        }
        if makes_sense { Ok(ended) } else { Err(SimulationError::Damaged) }
    }

    /// All static instructions, once all streams have come to their ends.
    pub fn finish(self) -> Code {
        self.code
    }

    #[inline]
    fn step(
        &mut self,
        chunk: &Chunk,
        blocks: &mut Vec<Option<u32>>,
        running: &mut Running<O>,
        step: &Executed,
        begin: &mut impl FnMut(Turn) -> O,
    ) {
        let Some(number) = number(&mut self.code, blocks, chunk, step) else { return };
        let Sampling { warmed, executed } = self.sampling;
        let position = running.position;
        running.position += 1;
        let (_, core) = match &mut running.core {
            Some(core) => core,
            none => none.insert(self.begin(chunk.stream, begin)),
        };
        match position % (warmed + executed) < warmed {
            true => core.warm(&self.code, number, step.accesses),
            false => core.step(&self.code, number, step.accesses),
        }
    }

    #[cold]
    fn begin(&mut self, stream: usize, begin: &mut impl FnMut(Turn) -> O) -> (Turn, Core<O>) {
        let threads = self.turns.entry(stream).or_default();
        *threads += 1;
        let turn = Turn { stream: stream + 1, thread: *threads };
        (turn, Core::new(&self.processor, &self.code, begin(turn)))
    }
}

impl<O: Observer> Running<O> {
    fn new(tid: u32) -> Running<O> {
        Running { tid, position: 0, core: None }
    }

    /// The thread has ended, at the latest with this chunk of its stream.
    #[cold]
    fn end(self, chunk: &Chunk) -> Option<Ended<O>> {
        let (turn, core) = self.core?;
        let (observer, totals) = core.finish();
        let Chunk { image, area, pid, .. } = *chunk;
        Some(Ended { turn, image, area, pid, tid: self.tid, observer, totals })
    }
}

/// The number of a static instruction; its block is decoded if it is new. `blocks` are those of the chunk's image: of each
/// the number of its first instruction. None if the chunk makes no sense.
#[inline]
fn number(code: &mut Code, blocks: &mut Vec<Option<u32>>, chunk: &Chunk, step: &Executed) -> Option<u32> {
    let at = step.block as usize;
    if blocks.len() <= at {
        blocks.resize(at + 1, None);
    }
    if blocks[at].is_none() {
        let block = chunk.block(step.block)?;
        blocks[at] = Some(code.add(chunk.image, step.block, block.code, block.address));
    }
    let number = blocks[at].map(|first| first + u32::from(step.position));
    number.filter(|number| (*number as usize) < code.len())
}
