//! Append-only logs of fixed-layout records: what was translated, how it is joined, what is mapped.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Bytes of one segment of a log, with its header.
pub const SEGMENT_SIZE: u64 = 4 * crate::GRANULE;

/// A log: a chain of segments. Records do not cross segments, and start at multiples of 8 bytes.
#[repr(C)]
pub struct Log {
    /// First segment, 0 while empty; runtime.
    pub first: AtomicU64,
    /// Segment that grows; runtime.
    pub last: AtomicU64,
    /// Complete records in the log; runtime, after each record.
    pub count: AtomicU32,
    /// Keeps the layout free of implicit padding.
    pub reserved: u32,
}

/// Start of a segment; records follow.
#[repr(C)]
pub struct Segment {
    /// Next segment, 0 for none yet; runtime.
    pub next: AtomicU64,
    /// Bytes used, this header included; runtime.
    pub used: AtomicU32,
    /// Keeps the layout free of implicit padding.
    pub reserved: u32,
}

/// A translated block: straight code with one way in. Followed by its `length` code bytes, padded to 8.
/// Its number is its position in the log.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRecord {
    /// Address of its first instruction in the target.
    pub address: u64,
    /// Number of mapping records that preceded: tells which mapping the address belonged to.
    pub mappings: u32,
    /// Which of the codes that stood at these addresses, counting up from 0.
    pub version: u32,
    /// Counter of the block itself, or [`crate::NONE`] if its count follows from its edges.
    pub counter: u32,
    /// The instruction before which that counter stands.
    pub counter_at: u16,
    /// Instructions.
    pub instructions: u16,
    /// Bytes of code.
    pub length: u16,
    /// Zero.
    pub reserved: [u16; 3],
}

/// A way from one block to another that was taken, or may have been.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeRecord {
    /// Block that it leaves, or [`crate::NONE`] if control came from outside.
    pub from: u32,
    /// Block whose first instruction it reaches, or [`crate::NONE`] if control left.
    pub to: u32,
    /// Its counter, or [`crate::NONE`] if its count follows from the others.
    pub counter: u32,
    /// Instructions of `from` that had been executed: all of them, but for a fault or a signal.
    pub executed: u16,
    /// An [`edge_kind`].
    pub kind: u16,
    /// By how much the clock moves when it is taken.
    pub step: i32,
    /// If it is a call and the costs of calls are asked for: the counter that holds its cost, in instructions,
    /// else [`crate::NONE`]. With [`BRIEF`] if the clock is taken from it while the call lasts, with [`HELD`] if its
    /// frame may lie in counters.
    pub cost: u32,
}

/// What is added to a [`EdgeRecord::cost`] that is less by the thread's clock while the call lasts.
pub const BRIEF: u32 = 1 << 31;

/// What is added to a [`EdgeRecord::cost`] if the counter [`SLOT`] behind it is for the slot of the call's frame
/// ([`crate::thread::Frame`]), and not 0 while that lies there, and as far behind that one there is one for its clock.
pub const HELD: u32 = 1 << 30;

/// How many counters behind that for the cost of a call.
pub const SLOT: u32 = 64;

/// Values of [`EdgeRecord::kind`].
pub mod edge_kind {
    /// To the next instruction without a branch, or past one that was not taken.
    pub const FALLTHROUGH: u16 = 0;
    /// By a direct jump.
    pub const JUMP: u16 = 1;
    /// By a conditional branch that was taken.
    pub const BRANCH: u16 = 2;
    /// By an indirect jump.
    pub const INDIRECT_JUMP: u16 = 3;
    /// By a direct call.
    pub const CALL: u16 = 4;
    /// By an indirect call.
    pub const INDIRECT_CALL: u16 = 5;
    /// By a return.
    pub const RETURN: u16 = 6;
    /// Past a system call.
    pub const SYSTEM_CALL: u16 = 7;
    /// From or to outside: a thread's start or end, a signal's arrival or its handler's return.
    pub const EXTERNAL: u16 = 8;
    /// From code that was overwritten to what now stands in its place.
    pub const REPLACED: u16 = 9;
    /// A return that does not end the latest call, or a jump that moves the stack: never recorded.
    pub const UNMATCHED: u16 = 10;
    /// To the runtime, because the thread's budget does not cover the block: never recorded.
    pub const PACED: u16 = 11;
    /// To the runtime, because a call's function cannot simply go on with its path: never recorded.
    pub const ASTRAY: u16 = 12;
}

/// [`MappingRecord::mapped`] of what was mapped at the start and may change without a system call.
pub const MAPPED_CHANGING: u32 = 2;

/// A change of the address space, followed by `path_length` bytes, padded to 8.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappingRecord {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Offset in the file of the first byte.
    pub file_offset: u64,
    /// Device of the file, as `stat` gives it; 0 for memory without a file.
    pub device: u64,
    /// File number; 0 for memory without a file.
    pub inode: u64,
    /// 0 if the range was unmapped, 1 if mapped, or [`MAPPED_CHANGING`].
    pub mapped: u32,
    /// Bytes of the path that follows.
    pub path_length: u32,
}
