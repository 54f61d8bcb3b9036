//! Streams: what threads executed, in order, taken out of their rings while the program runs.
//!
//! The program waits while a ring is full, so whoever takes chunks decides how fast it runs.

mod drain;
mod locate;
mod vectors;

pub(crate) use drain::{Beat, drain};
pub use locate::Locator;
pub(crate) use vectors::{Stream, Vector, Vectors};

use crate::arena::Arena;
use crate::harvest::{Image, Images};
use std::collections::HashMap;
use timewise_abi::log::BlockRecord;
use timewise_abi::stream::{Plan, kind};
use timewise_profile::{Place, ThreadId};

/// What is recorded beside counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recording {
    /// Nothing.
    #[default]
    Nothing,
    /// What each thread executes, in windows.
    Windows(Windows),
    /// How often it executes each block, in every so many instructions.
    Intervals(u64),
}

/// The parts of each thread's execution that are streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Instructions before each window, exactly.
    pub skip: u64,
    /// Instructions of each window, exactly, unless the thread ends in it.
    pub length: u64,
    /// Windows of each thread, at most [`Windows::MOST`].
    pub windows: u32,
    /// Whether addresses of memory accesses are streamed.
    pub memory: bool,
}

impl Windows {
    /// Everything that is executed.
    pub const ALL: Windows = Windows { skip: 0, length: u64::MAX, windows: 1, memory: true };

    /// More windows than a thread comes to: as many as there are. One more is what the runtime notes of a thread that has
    /// been left alone.
    pub const MOST: u32 = u32::MAX - 1;
}

impl Recording {
    pub(crate) fn plan(self) -> Plan {
        match self {
            Recording::Nothing => Plan::default(),
            Recording::Intervals(length) => {
                Plan { kind: kind::INTERVALS, length: length.max(1), ..Plan::default() }
            }
            Recording::Windows(Windows { skip, length, windows, memory }) => Plan {
                kind: kind::STREAM,
                memory: memory.into(),
                skip,
                length: length.max(1),
                windows: windows.min(Windows::MOST).into(),
            },
        }
    }
}

/// A part of a thread's stream.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// Numbers the streams of a run. A stream may be of several threads, one after the other.
    pub stream: usize,
    /// Names the process image that the thread belongs to: a new one after each `fork` and `execve`.
    pub image: u64,
    /// Its process id.
    pub pid: u32,
    /// Words and what is recorded between them; `timewise_abi::stream` says how.
    pub bytes: &'a [u8],
    /// Whether nothing follows.
    pub is_last: bool,
    /// Whether the latest block may have been left at any of its instructions: somebody else ended the thread.
    pub is_cut: bool,
    /// Names the row of the profile that the thread or threads of the stream will have: see [`Places::thread`].
    pub area: u64,
    arena: &'a Arena,
    images: &'a Images,
}

/// A block of translated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamedBlock<'a> {
    /// Address of its first instruction.
    pub address: u64,
    /// Its instructions.
    pub instructions: u16,
    /// Its code, as it was when it was executed.
    pub code: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// A block of the process image, by number. It stays what it is.
    pub fn block(&self, number: u32) -> Option<StreamedBlock<'a>> {
        let (image, at) = self.find(number)?;
        let BlockRecord { address, instructions, .. } = image.blocks[at];
        Some(StreamedBlock { address, instructions, code: image.code(at) })
    }

    /// What the runtime noted of a block.
    fn record(&self, number: u32) -> Option<BlockRecord> {
        let (image, at) = self.find(number)?;
        Some(image.blocks[at])
    }

    /// The image that a block is an own one of, and its position among those.
    fn find(&self, number: u32) -> Option<(&'a Image, usize)> {
        let mut first = 0;
        for (image, range) in self.images.parts(self.image, 0) {
            let at = (number as usize).checked_sub(first)? + range.start;
            if range.contains(&at) {
                return Some((image, at));
            }
            first += range.len();
        }
        None
    }

    /// What a counter of the thread area holds.
    fn counter(&self, counter: u32) -> u64 {
        self.arena.counter(self.area, counter)
    }
}

/// What streams are of, and the blocks that they name, in terms of the profile of the same run.
#[derive(Debug, Default)]
pub struct Places {
    /// Of each process image, its blocks.
    pub(crate) by_image: HashMap<u64, Vec<Option<Place>>>,
    /// Of each process image, the path of what it executed.
    pub(crate) executables: HashMap<u64, Vec<u8>>,
    /// Of each thread area, its row.
    pub(crate) threads: HashMap<u64, ThreadId>,
}

impl Places {
    /// The row of a stream's thread or threads, by [`Chunk::area`].
    pub fn thread(&self, area: u64) -> Option<ThreadId> {
        self.threads.get(&area).copied()
    }

    /// The path of what a process image executed, as [`Chunk::image`] names it; empty if it is not known.
    pub fn executable(&self, image: u64) -> &[u8] {
        self.executables.get(&image).map_or(&[], Vec::as_slice)
    }

    /// Module, code version and offset of the first instruction of a block of a process image, as
    /// [`Chunk::image`] names it; `None` if nothing of its module was executed.
    pub fn place(&self, image: u64, block: u32) -> Option<Place> {
        *self.by_image.get(&image)?.get(block as usize)?
    }
}
