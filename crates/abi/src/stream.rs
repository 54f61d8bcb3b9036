//! What is asked for beside counts, and the rings by which it reaches the host.
//!
//! Each thread writes to a ring of its own, in chunks that pass whole from one side to the other. A thread
//! that has no free chunk waits until the host has read one; a host that is gone lets it go on without.
//!
//! A stream is a sequence of 32-bit words. A word below [`CONTROL`] is the number of a block that control
//! entered, followed by what is recorded of its memory accesses (`timewise-isa`'s `memory` says how many
//! bytes of each). Others are of the kinds in [`control`], with a fixed number of words after them.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// What is asked for beside counts; host, before the program's first instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// One of [`kind`].
    pub kind: u32,
    /// Whether a stream holds the addresses of memory accesses.
    pub memory: u32,
    /// Instructions of each thread before each window.
    pub skip: u64,
    /// Instructions of a window, or of an interval; not 0.
    pub length: u64,
    /// Windows of each thread, less than `u32::MAX`.
    pub windows: u64,
}

/// Values of [`Plan::kind`].
pub mod kind {
    /// Nothing.
    pub const NONE: u32 = 0;
    /// How often each block was executed, for each interval of instructions.
    pub const INTERVALS: u32 = 1;
    /// What was executed, in order.
    pub const STREAM: u32 = 2;
}

/// Bytes of a block's number where its accesses follow, so that these are aligned: a program may have asked that
/// accesses which are not shall fault.
pub const HEAD_WITH_MEMORY: u32 = 8;

/// Likewise, where none follow.
pub const HEAD: u32 = 4;

/// Chunks of a ring.
pub const CHUNKS: usize = 4;

/// Bytes of a chunk.
pub const CHUNK: u64 = 1 << 20;

/// Bytes at the end of a chunk for words that are written whenever they are due.
pub const SLACK: u64 = 32 << 10;

/// Where in a ring its first chunk lies.
pub const FIRST_CHUNK: u64 = 4096;

/// Bytes of a ring.
pub const RING: u64 = FIRST_CHUNK + CHUNKS as u64 * CHUNK;

/// Head of a ring.
#[repr(C)]
#[derive(Debug)]
pub struct Ring {
    /// Ring registered before this one, 0 for none; runtime, once.
    pub previous: AtomicU64,
    /// Offset of the thread area that writes to it; runtime, once.
    pub area: u64,
    /// Offset of that thread's process record; runtime, once.
    pub process: u64,
    /// Of each chunk: bytes that it holds, 0 while the thread may write to it. Runtime when it is full; host
    /// when it was read (futex).
    pub full: [AtomicU32; CHUNKS],
    /// Chunks that the thread began after its first; runtime.
    pub begun: AtomicU64,
    /// 1 if something is missing from the stream; runtime.
    pub lost: AtomicU32,
    /// Keeps the layout free of implicit padding.
    pub reserved: u32,
}

/// The first word that is no block's number.
pub const CONTROL: u32 = 0xffff_ff00;

/// Words that are no block's number.
pub mod control {
    use super::CONTROL;
    /// The latest block was left after some of its instructions. Three more fields: how many (1 word), and
    /// `rsi` and `rdi` then (2 words each).
    pub const CUT: u32 = CONTROL;
    /// A signal's handler is next: its number (1 word).
    pub const SIGNAL: u32 = CONTROL + 1;
    /// A thread begins: its id (1 word).
    pub const THREAD: u32 = CONTROL + 2;
    /// A window begins: how many instructions the thread had executed (2 words, and 0).
    pub const BEGIN: u32 = CONTROL + 3;
    /// A window ends, likewise.
    pub const END: u32 = CONTROL + 4;
    /// An interval ends: how many instructions the thread had executed (2 words, and 0).
    pub const INTERVAL: u32 = CONTROL + 5;
    /// In the interval that ends next, a counter rose: its number and by how much (1 word each, and 0).
    pub const COUNTED: u32 = CONTROL + 6;
    /// In the interval that ends next, control left a block before its end: its number and how many of its
    /// instructions were executed (1 word each, and 0).
    pub const PARTLY: u32 = CONTROL + 7;
    /// A signal's handler has returned, and the thread goes on where the signal found it (1 word, 0).
    pub const HANDLED: u32 = CONTROL + 8;

    /// Words that follow.
    pub fn operands(word: u32) -> Option<usize> {
        Some(match word {
            CUT => 5,
            SIGNAL | THREAD | HANDLED => 1,
            BEGIN | END | INTERVAL | COUNTED | PARTLY => 3,
            _ => return None,
        })
    }
}

const _: () = assert!(size_of::<Ring>() <= FIRST_CHUNK as usize);
