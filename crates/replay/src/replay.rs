//! Reading streams.

use crate::block::Block;
use crate::memory::{Access, resolve};
use std::collections::HashMap;
use timewise_abi::stream::{CONTROL, HEAD, HEAD_WITH_MEMORY, control};
use timewise_engine::streams::{Chunk, StreamedBlock};

/// What happens on a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event<'a> {
    /// An instruction was executed.
    Executed(Executed<'a>),
    /// An instruction was begun and given up, by a fault or a signal, after it had accessed memory: a string
    /// instruction in the middle of its repetitions. It goes on, if at all, as an instruction of its own.
    GivenUp(Executed<'a>),
    /// A thread begins; those before it on the same stream have ended.
    Thread {
        /// Its id.
        tid: u32,
    },
    /// A handler of this signal is next.
    Signal {
        /// Its number.
        signal: u32,
    },
    /// The handler of the latest signal has returned: the thread goes on where the signal found it, unless the handler
    /// meant otherwise.
    Handled,
    /// A window begins.
    Begin {
        /// Instructions that the thread had executed.
        executed: u64,
    },
    /// A window ends.
    End {
        /// Instructions that the thread had executed.
        executed: u64,
    },
    /// Somebody else ended the thread, somewhere in this block.
    Lost {
        /// The block.
        block: u32,
    },
}

/// An executed instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Executed<'a> {
    /// Its address.
    pub address: u64,
    /// Its bytes.
    pub length: u8,
    /// Its block, which tells the version of the code: see `timewise_engine::streams::Places`.
    pub block: u32,
    /// Its position in the block.
    pub position: u16,
    /// The memory that it accessed, if that is streamed: reads before writes.
    pub accesses: &'a [Access],
}

/// Reads the streams of one run.
#[derive(Debug)]
pub struct Replay {
    with_memory: bool,
    /// By image that runs, which of the decoded blocks each of its blocks is, by number.
    blocks: HashMap<u64, Vec<Option<u32>>>,
    decoded: Decoded,
    streams: Vec<Stream>,
    accesses: Vec<Access>,
}

/// Decoded blocks, each once: many processes may execute the same code.
#[derive(Debug, Default)]
struct Decoded {
    blocks: Vec<Block>,
    /// Which of them it is that has this code at this address.
    numbers: HashMap<(u64, Box<[u8]>), u32>,
}

impl Decoded {
    /// The number of a block, which is decoded if it is new.
    #[cold]
    fn number(&mut self, block: &StreamedBlock, with_memory: bool) -> u32 {
        *self.numbers.entry((block.address, block.code.into())).or_insert_with(|| {
            self.blocks.push(Block::new(block, with_memory));
            self.blocks.len() as u32 - 1
        })
    }
}

/// One stream.
#[derive(Debug, Default)]
struct Stream {
    /// What of it was not read yet: its latest block, and what may tell how it was left.
    rest: Vec<u8>,
}

impl Replay {
    /// Reads streams from their start; with memory accesses if they are streamed.
    pub fn new(with_memory: bool) -> Replay {
        Replay {
            with_memory,
            blocks: HashMap::new(),
            decoded: Decoded::default(),
            streams: Vec::new(),
            accesses: Vec::new(),
        }
    }

    /// Takes the next chunk of any stream and tells `each` what happened. False if it makes no sense.
    pub fn chunk(&mut self, chunk: &Chunk, mut each: impl FnMut(Event)) -> bool {
        if self.streams.len() <= chunk.stream {
            self.streams.resize_with(chunk.stream + 1, Stream::default);
        }
        let mut rest = std::mem::take(&mut self.streams[chunk.stream].rest);
        let joined;
        let bytes = if rest.is_empty() {
            chunk.bytes
        } else {
            rest.extend_from_slice(chunk.bytes);
            joined = rest;
            &joined[..]
        };
        let Some(read) = self.read(chunk, bytes, &mut each) else { return false };
        self.streams[chunk.stream].rest = bytes[read..].to_vec();
        if chunk.is_last {
            // The process has ended: if other threads of it have a rest, its blocks are looked up again for that.
            self.blocks.remove(&chunk.image);
        }
        true
    }

    /// Reads as far as it is known what happened: so many bytes.
    fn read(&mut self, chunk: &Chunk, bytes: &[u8], each: &mut impl FnMut(Event)) -> Option<usize> {
        let blocks = self.blocks.entry(chunk.image).or_default();
        let mut at = 0;
        while let Some(word) = word(bytes, at) {
            if word >= CONTROL {
                let operands = control::operands(word)?;
                let end = at + 4 + 4 * operands;
                if end > bytes.len() {
                    break;
                }
                if let Some(event) = event(word, bytes, at + 4) {
                    each(event);
                }
                at = end;
                continue;
            }
            let known = match blocks.get(word as usize) {
                Some(&Some(known)) => known,
                // Looked up before there is room for it: the program can write any number here.
                _ => {
                    let known = self.decoded.number(&chunk.block(word)?, self.with_memory);
                    blocks.resize(blocks.len().max(word as usize + 1), None);
                    blocks[word as usize] = Some(known);
                    known
                }
            };
            let block = &self.decoded.blocks[known as usize];
            let head = if self.with_memory { HEAD_WITH_MEMORY } else { HEAD } as usize;
            let end = at + head + block.recorded;
            let Some(next) = self::word(bytes, end) else {
                if !chunk.is_last || end > bytes.len() {
                    break;
                }
                match chunk.is_cut {
                    true => each(Event::Lost { block: word }),
                    false => tell(&mut self.accesses, block, (word, &bytes[at + head..end]), None, each),
                }
                return Some(end);
            };
            if next != control::CUT {
                tell(&mut self.accesses, block, (word, &bytes[at + head..end]), None, each);
                at = end;
                continue;
            }
            if end + 24 > bytes.len() {
                break;
            }
            let cut = Cut {
                executed: self::word(bytes, end + 4)? as usize,
                registers: [long(bytes, end + 8)?, long(bytes, end + 16)?],
            };
            tell(&mut self.accesses, block, (word, &bytes[at + head..end]), Some(cut), each);
            at = end + 24;
        }
        Some(at)
    }
}

/// How a block was left before its end.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// After so many instructions.
    executed: usize,
    /// With this in `rsi` and `rdi`.
    registers: [u64; 2],
}

/// Tells what of a block was executed.
fn tell(
    accesses: &mut Vec<Access>,
    block: &Block,
    (number, mut recorded): (u32, &[u8]),
    cut: Option<Cut>,
    each: &mut impl FnMut(Event),
) {
    let executed = cut.map_or(block.steps.len(), |cut| cut.executed);
    for (position, step) in block.steps.iter().enumerate().take(executed + 1) {
        accesses.clear();
        let is_done = position < executed;
        // What a string instruction came to is recorded after it, unless control left right there.
        let after = cut.filter(|_| position + 1 >= executed).map(|cut| cut.registers);
        for access in &step.accesses {
            let (own, rest) = recorded.split_at(access.recorded() as usize);
            recorded = rest;
            let repeats = access.extent == timewise_isa::memory::Extent::Repeated;
            if is_done || repeats {
                resolve(access, own, after, accesses);
            }
        }
        let told = Executed {
            address: step.address,
            length: step.length,
            block: number,
            position: position as u16,
            accesses,
        };
        if is_done {
            each(Event::Executed(told));
        } else if !accesses.is_empty() {
            each(Event::GivenUp(told));
        }
    }
}

fn event(word: u32, bytes: &[u8], at: usize) -> Option<Event<'static>> {
    let number = self::word(bytes, at)?;
    let executed = || long(bytes, at);
    Some(match word {
        control::THREAD => Event::Thread { tid: number },
        control::SIGNAL => Event::Signal { signal: number },
        control::HANDLED => Event::Handled,
        control::BEGIN => Event::Begin { executed: executed()? },
        control::END => Event::End { executed: executed()? },
        _ => return None,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}
