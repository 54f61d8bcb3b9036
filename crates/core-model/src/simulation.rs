//! From the streams of a run to cores that execute them.

use crate::code::{Code, Origin};
use crate::core::{Core, Totals};
use crate::processor::{Processor, ProcessorError};
use std::collections::HashMap;
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

/// The cores of a run: one for each stream, with caches of its own.
#[derive(Debug)]
pub struct Simulation<O, M> {
    processor: Processor,
    code: Code,
    /// By image, for each block the number of its first instruction.
    blocks: HashMap<u64, Vec<Option<u32>>>,
    cores: Vec<Option<Core<O>>>,
    /// Instructions of each stream's present window until now.
    seen: Vec<u64>,
    sampling: Option<Sampling>,
    make: M,
}

/// Which instructions of each window of a stream are executed in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// So many only warm caches and predictors,
    pub warmed: u64,
    /// then so many are executed, and again.
    pub executed: u64,
}

impl<O: Observer, M: FnMut(usize) -> O> Simulation<O, M> {
    /// Cores of this processor; `make` makes the observer of each stream's core when the stream begins.
    ///
    /// # Errors
    /// If the processor's record names what is not there.
    pub fn new(processor: &Processor, make: M) -> Result<Simulation<O, M>, ProcessorError> {
        Ok(Simulation {
            code: Code::new(processor)?,
            processor: processor.clone(),
            blocks: HashMap::new(),
            cores: Vec::new(),
            seen: Vec::new(),
            sampling: None,
            make,
        })
    }

    /// Executes a sample of each window of a stream only, and warms caches and predictors with the rest.
    pub fn sample(mut self, sampling: Sampling) -> Simulation<O, M> {
        self.sampling = Some(sampling).filter(|sampling| sampling.executed > 0);
        self
    }

    /// Tells all numbers that the instruction at this address, in whichever process, has in records.
    pub fn watch(mut self, address: u64, numbers: Numbers) -> Simulation<O, M> {
        self.code.watch(address, numbers);
        self
    }

    /// Executes what a chunk tells of. `replay` must have seen all chunks before, and streams memory.
    ///
    /// # Errors
    /// If the chunk makes no sense.
    pub fn chunk(&mut self, replay: &mut Replay, chunk: &Chunk) -> Result<(), SimulationError> {
        if self.cores.len() <= chunk.stream {
            self.cores.resize_with(chunk.stream + 1, || None);
            self.seen.resize(chunk.stream + 1, 0);
        }
        let mut core = match self.cores[chunk.stream].take() {
            Some(core) => core,
            None => Core::new(&self.processor, &self.code, (self.make)(chunk.stream)),
        };
        let blocks = self.blocks.entry(chunk.image).or_default();
        let code = &mut self.code;
        let (sampling, seen) = (self.sampling, &mut self.seen[chunk.stream]);
        let sense = replay.chunk(chunk, |event| {
            let step = match event {
                Event::Executed(step) => step,
                // A thread may have ended in its window.
                Event::Begin { .. } => {
                    *seen = 0;
                    return;
                }
                _ => return,
            };
            let Some(number) = number(code, blocks, chunk, &step) else { return };
            let position = *seen;
            *seen += 1;
            match sampling {
                Some(Sampling { warmed, executed }) if position % (warmed + executed) < warmed => {
                    core.warm(code, number, step.accesses)
                }
                _ => core.step(code, number, step.accesses),
            }
        });
        self.cores[chunk.stream] = Some(core);
        if sense { Ok(()) } else { Err(SimulationError::Damaged) }
    }

    /// Where a static instruction is from, by the number that records give it.
    pub fn origin(&self, instruction: u32) -> Origin {
        self.code.origin(instruction)
    }

    /// All static instructions.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// What each stream's core has done until now.
    pub fn totals(&self) -> impl Iterator<Item = (usize, Totals)> {
        let cores = self.cores.iter().enumerate();
        cores.filter_map(|(stream, core)| Some((stream, core.as_ref()?.totals())))
    }

    /// Lets every core finish; gives each stream's observer and what its core did, and the code.
    pub fn finish(self) -> (Vec<(usize, O, Totals)>, Code) {
        let cores = self.cores.into_iter().enumerate().filter_map(|(stream, core)| Some((stream, core?)));
        let done = cores.map(|(stream, core)| {
            let (observer, totals) = core.finish();
            (stream, observer, totals)
        });
        (done.collect(), self.code)
    }
}

/// The number of a static instruction; its block is decoded if it is new. `blocks` are those of the chunk's image: of each
/// the number of its first instruction. None if the chunk makes no sense.
#[inline]
pub fn number(code: &mut Code, blocks: &mut Vec<Option<u32>>, chunk: &Chunk, step: &Executed) -> Option<u32> {
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
