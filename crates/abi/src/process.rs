//! What is kept for each process under count.

use crate::log::Log;
use crate::signal::Actions;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// One process image: a fork makes a new one, and so does a successful `execve`.
#[repr(C)]
pub struct ProcessRecord {
    /// Record registered before this one, 0 for none; whoever registers it.
    pub previous: AtomicU64,
    /// Record of the image that forked this one or called `execve`, 0 for the first; whoever registers it.
    pub parent: u64,
    /// Process id; 0 until the process takes its first step; host for the first image, then runtime.
    pub pid: AtomicU32,
    /// A [`state`].
    pub state: AtomicU32,
    /// 1 if it ran before it was counted, so that it knows that the kernel has restartable sequences, or descends
    /// by `fork` from such a one; whoever registers it.
    pub attached: AtomicU32,
    /// What it has locked of the memory that it maps from now on, as `mlockall` has it: while it is counted the kernel
    /// fills none of that; host of one that is attached to, then runtime.
    pub locks: AtomicU32,
    /// Where the runtime is to have what it needs below 2 GiB, 0 for [`crate::RESERVED_LOW`]. It is asked for once, when
    /// the runtime is made ready: a forked process has it where its parent does; host of one that is attached to.
    pub low: AtomicU32,
    /// Translated blocks; runtime.
    pub blocks: Log,
    /// Edges; runtime.
    pub edges: Log,
    /// Changes of the address space; host for the mappings at the start, then runtime.
    pub mappings: Log,
    /// How many records of the parent's logs stand before its own, in the order above: a forked child
    /// begins with all that its parent had translated; runtime at fork.
    pub inherited: [AtomicU32; 3],
    /// Counters in use: those numbered below this; runtime.
    pub counters: AtomicU32,
    /// Latest [`crate::thread::ThreadArea`], 0 for none; linked through its `previous`; runtime.
    pub latest_thread: AtomicU64,
    /// What the program asked to be done about signals; runtime.
    pub actions: Actions,
    /// Ticks of the processor's time stamp counter that it took to translate and join code, if that is noted; runtime.
    pub translation_ticks: AtomicU64,
    /// The limits on its address space, soft and hard, as the program knows them: the kernel's are higher
    /// by what the runtime takes; host at the start, then runtime.
    pub address_limits: [AtomicU64; 2],
    /// Functions of the program that no table in its own memory tells of; host at the start.
    pub unlisted: Unlisted,
}

/// Functions of a file that are not in a sorted table for its unwinder (`.eh_frame_hdr`).
#[derive(Debug)]
#[repr(C)]
pub struct Unlisted {
    /// Where the file would begin if it were mapped from its beginning on.
    pub origin: AtomicU64,
    /// Those that are described where there is no table, as in static programs: how far from the file's beginning each
    /// begins, and how far what its unwinder is told of it, as in the table that others have.
    pub described: Rows,
    /// Those that only a symbol tells of: how far from the file's beginning each begins, and its length in bytes, which
    /// is negative if it is a part of a function that lies elsewhere.
    pub named: Rows,
}

/// Where functions are listed.
#[derive(Debug)]
#[repr(C)]
pub struct Rows {
    /// Offset in the shared file of the [`Row`]s, in order of where functions begin.
    pub offset: AtomicU64,
    /// How many; 0 for none.
    pub count: AtomicU64,
}

/// What is said of a function.
pub type Row = [i32; 2];

/// No limit, in [`ProcessRecord::address_limits`].
pub const UNLIMITED: u64 = u64::MAX;

/// How much higher the kernel's hard limit on the address space is than the program's: more than the
/// runtime ever takes, so that it can move the soft limit as it takes more.
pub const HARD_LIMIT_ROOM: u64 = 16 << 40;

/// Values of [`ProcessRecord::state`].
pub mod state {
    /// Runs, or was killed.
    pub const RUNNING: u32 = 0;
    /// Ends: its threads were stopped as far as they could be, and say themselves where.
    pub const ENDED: u32 = 1;
    /// Was replaced by `execve`.
    pub const REPLACED: u32 = 2;
}
