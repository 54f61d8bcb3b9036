//! From the streams of a run to cores that execute them.

use crate::code::Code;
use crate::core::{Core, Totals};
use crate::processor::{Processor, ProcessorError};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use timewise_engine::streams::{Chunk, Locator, StreamedBlock};
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
    locator: Locator,
    /// The instructions of each block. Whoever executes the same code at the same address has the same numbers, so that
    /// these are no more for many processes than for one. Where one thread has several blocks of the same code, as of
    /// loops that stand several times, each is a copy with numbers of its own.
    numbers: HashMap<(Piece, u32), Range<u32>>,
    /// By stream.
    running: BTreeMap<usize, Running<O>>,
    /// Of each stream, how many threads had cores.
    turns: BTreeMap<usize, usize>,
}

/// A thread that runs, as far as is known.
#[derive(Debug)]
struct Running<O> {
    tid: u32,
    /// Instructions that it had executed before its present window.
    began: u64,
    /// Instructions of its present window until now.
    position: u64,
    /// What its core executed, in order. Until it has ended, instructions and cycles are those of before.
    windows: Vec<Window>,
    met: Met,
    /// None until it has executed something.
    core: Option<(Turn, Core<O>)>,
}

/// What code it is, as [`Locator::piece`] says, and its address.
type Piece = (u32, u64);

/// Blocks that a thread came to.
#[derive(Debug, Default)]
struct Met {
    /// By number of the block in its image, the number of the first instruction.
    blocks: Vec<Option<u32>>,
    /// How many are of the same code.
    copies: HashMap<Piece, u32>,
}

/// Which thread of a run: streams are used again when threads have ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Turn {
    /// Its stream, from 1 on.
    pub stream: usize,
    /// Which of the stream's threads that executed something, from 1 on.
    pub thread: usize,
}

/// Instructions in a row that a core executed in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Window {
    /// Instructions that the thread had executed before.
    pub first_instruction: u64,
    /// How many these are.
    pub instructions: u64,
    /// Cycles from the commit of the last instruction that was executed in time before, to that of the last of these.
    pub cycles: u64,
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
    /// The same, window by window: their instructions and cycles add up to all of them.
    pub windows: Vec<Window>,
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
            locator: Locator::default(),
            numbers: HashMap::new(),
            processor: processor.clone(),
            sampling,
            running: BTreeMap::new(),
            turns: BTreeMap::new(),
        })
    }

    /// Tells all numbers that the instruction at this address, in whichever process, has in records.
    pub fn watch(&mut self, address: u64, numbers: Numbers) {
        self.code.watch(address, numbers);
    }

    /// Executes what a chunk tells of. `replay` must have seen all chunks before, and streams memory. `begin` makes the
    /// observer of a thread's core, `end` gets each thread as it ends: a chunk may be of many, one after the other.
    ///
    /// # Errors
    /// If the chunk makes no sense.
    pub fn chunk(
        &mut self,
        replay: &mut Replay,
        chunk: &Chunk,
        mut begin: impl FnMut(Turn) -> O,
        mut end: impl FnMut(Ended<O>),
    ) -> Result<(), SimulationError> {
        let mut running = self.running.remove(&chunk.stream).unwrap_or_else(|| Running::new(chunk.pid));
        let makes_sense = replay.chunk(chunk, |event| match event {
            Event::Thread { tid } => {
                let before = std::mem::replace(&mut running, Running::new(tid));
                before.end(chunk).into_iter().for_each(&mut end);
            }
            // The thread may have ended its window early.
            Event::Begin { executed } => (running.began, running.position) = (executed, 0),
            Event::Executed(step) => self.step(chunk, &mut running, &step, &mut begin),
            _ => {}
        });
        match chunk.is_last {
            true => {
                running.end(chunk).into_iter().for_each(end);
                // Its process has ended: if other threads of it have a rest, it is looked at again for that.
                self.locator.forget(chunk.image);
            }
            false => drop(self.running.insert(chunk.stream, running)),
        }
        if makes_sense { Ok(()) } else { Err(SimulationError::Damaged) }
    }

    /// All static instructions, once all streams have come to their ends.
    pub fn finish(self) -> Code {
        self.code
    }

    #[inline]
    fn step(
        &mut self,
        chunk: &Chunk,
        running: &mut Running<O>,
        step: &Executed,
        begin: &mut impl FnMut(Turn) -> O,
    ) {
        let (_, core) = match &mut running.core {
            Some(core) => core,
            none => none.insert(self.begin(chunk.stream, begin)),
        };
        let first = match running.met.blocks.get(step.block as usize) {
            Some(&Some(first)) => first,
            _ => match self.meet(chunk, step.block, &mut running.met, core) {
                Some(first) => first,
                None => return,
            },
        };
        let number = first + u32::from(step.position);
        if number as usize >= self.code.len() {
            return;
        }
        let Sampling { warmed, executed } = self.sampling;
        let position = running.position;
        running.position += 1;
        let of_turn = position % (warmed + executed);
        if of_turn < warmed {
            return core.warm(&self.code, number, step.accesses);
        }
        if of_turn == warmed {
            let Totals { instructions, cycles, .. } = core.totals();
            let first_instruction = running.began + position;
            running.windows.push(Window { first_instruction, instructions, cycles });
        }
        core.step(&self.code, number, step.accesses);
    }

    /// The number of the first instruction of a block that a thread comes to for the first time. None if the chunk makes
    /// no sense.
    #[cold]
    fn meet(&mut self, chunk: &Chunk, block: u32, met: &mut Met, core: &mut Core<O>) -> Option<u32> {
        let StreamedBlock { code, address, .. } = chunk.block(block)?;
        let piece = (self.locator.piece(chunk, block)?, address);
        let copy = met.copies.entry(piece).or_default();
        let numbers = match self.numbers.entry((piece, *copy)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let first = self.code.add(chunk.image, block, code, address);
                new.insert(first..self.code.len() as u32)
            }
        };
        *copy += 1;
        core.meet(&self.code, numbers.clone());
        if met.blocks.len() <= block as usize {
            met.blocks.resize(block as usize + 1, None);
        }
        met.blocks[block as usize] = Some(numbers.start);
        Some(numbers.start)
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
        Running { tid, began: 0, position: 0, windows: Vec::new(), met: Met::default(), core: None }
    }

    /// The thread has ended, at the latest with this chunk of its stream.
    #[cold]
    fn end(self, chunk: &Chunk) -> Option<Ended<O>> {
        let (turn, core) = self.core?;
        let (observer, totals) = core.finish();
        let Chunk { image, area, pid, .. } = *chunk;
        let windows = divided(self.windows, &totals);
        Some(Ended { turn, image, area, pid, tid: self.tid, observer, totals, windows })
    }
}

/// Windows by themselves, from what a core had done before each and in all.
fn divided(mut windows: Vec<Window>, totals: &Totals) -> Vec<Window> {
    let mut behind = (totals.instructions, totals.cycles);
    for window in windows.iter_mut().rev() {
        let before = (window.instructions, window.cycles);
        (window.instructions, window.cycles) = (behind.0 - before.0, behind.1 - before.1);
        behind = before;
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_add_up_to_what_the_core_did() {
        let before = [(100, 0, 0), (900, 50, 70), (1700, 100, 80)];
        let windows = before.map(|(first_instruction, instructions, cycles)| Window {
            first_instruction,
            instructions,
            cycles,
        });
        let totals = Totals { instructions: 120, cycles: 100, ..Totals::default() };
        let told = divided(windows.to_vec(), &totals);
        let told = told.iter().map(|window| (window.first_instruction, window.instructions, window.cycles));
        assert_eq!(told.collect::<Vec<_>>(), [(100, 50, 70), (900, 50, 10), (1700, 20, 20)]);
    }
}
