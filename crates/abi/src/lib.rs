//! Layout of the memory that the host and the in-target runtime share, versioned, in both directions.
//!
//! One sparse file without a name is mapped whole into the host and into every process under count, in
//! the targets at [`SharedHeader::base`]. Space in it is handed out by advancing
//! [`SharedHeader::next_free`], by whichever side needs it, and given back by the host alone. References
//! inside it are offsets from its start, 0 meaning none.
//!
//! Who writes what is said at each field. The runtime only ever appends to logs and adds to counters, so
//! the host may read while the target runs, and whatever was written survives the target's death.
#![no_std]

pub mod log;
pub mod paths;
pub mod plain;
pub mod process;
mod register;
pub mod signal;
pub mod stream;
pub mod thread;
pub mod tracing;
pub mod view;
pub mod visit;

use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Addresses that are the runtime's in processes under count, for its vectors and tables: addresses of 32 bits reach them
/// from everywhere. In a program that was attached to they may lie elsewhere below 2 GiB ([`process::ProcessRecord::low`]).
pub const RESERVED_LOW: Range<u64> = 0x7800_0000..0x7a01_0000;

/// Likewise, for what is put far from the program: above the 46 bits from which V8 draws where its heaps are to lie, and
/// what the kernel lays out from a third of all addresses upwards (`setarch -L`), below where position-independent
/// programs are loaded.
pub const RESERVED_HIGH: Range<u64> = 0x4000_0000_0000..0x5000_0000_0000;

/// Where the shared file is mapped in programs.
pub const SHARED: u64 = RESERVED_HIGH.start;

/// First word of the shared file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"timewise");

/// Version of this layout. Host and runtime are built together; a difference is a build fault.
pub const VERSION: u32 = 1;

/// Unit in which space is handed out.
pub const GRANULE: u64 = 64 << 10;

/// Bytes of a large page, which stands for 512 others in the processor's tables.
pub const LARGE_PAGE: u64 = 2 << 20;

/// Where the image is mapped in programs.
pub const IMAGE: u64 = SHARED + (7 << 40);

/// No counter, no block, no thread: the value of an index that refers to nothing.
pub const NONE: u32 = u32::MAX;

/// How many thread areas that nobody uses any more wait to be used again at once.
pub const SPARE_AREAS: usize = 256;

/// Number of requests to the host that can be under way at once.
pub const MAILBOXES: usize = 64;

/// First page of the shared file.
#[repr(C)]
pub struct SharedHeader {
    /// [`MAGIC`]; host, once.
    pub magic: u64,
    /// [`VERSION`]; host, once.
    pub version: u32,
    /// Set once something went wrong that makes counts incomplete: a [`Failure`]; runtime.
    pub failure: AtomicU32,
    /// Address in the program where a thread first went on uncounted, 0 if none did; runtime.
    pub failure_address: AtomicU64,
    /// Size of the shared file, bytes; host, once.
    pub size: u64,
    /// Offset of the first byte never handed out; both.
    pub next_free: AtomicU64,
    /// Where the shared file is mapped in every process under count; host, once.
    pub base: u64,
    /// Bytes that logs may take in all, so that a program which never stops making new code does not use
    /// up the machine's memory; host, once.
    pub log_limit: u64,
    /// Bytes that logs take; runtime.
    pub log_bytes: AtomicU64,
    /// Bytes of a [`thread::ThreadArea`] with its counters; host, once.
    pub thread_area_size: u64,
    /// Latest registered [`process::ProcessRecord`]; both, linked through `previous`.
    pub latest_process: AtomicU64,
    /// Process id of the host, 0 once it no longer follows; host.
    pub host_pid: AtomicU32,
    /// Process id of the host if it is to give the program back, as long as it lives; else 0; host, once.
    pub giver_pid: AtomicU32,
    /// How often a process executed a program that the host was not asked to follow; runtime.
    pub unfollowed: AtomicU32,
    /// Pages of code of which the kernel did not tell what is mapped there, as without `/proc`; runtime.
    pub unnamed_pages: AtomicU32,
    /// 1 if programs may write `%gs`'s base themselves (FSGSBASE); host, once.
    pub user_gs: u32,
    /// 1 if the runtime is to note how long it takes over new code; host, once.
    pub times_translation: AtomicU32,
    /// Where in a thread area the [`thread::Frame`]s lie, after its counters, if the costs of calls are asked
    /// for, else 0; the first stands for none. Host, once.
    pub frames: u64,
    /// What is asked for beside counts; host, once.
    pub plan: stream::Plan,
    /// Offset of the [`paths::Plan`] if paths are to be counted, else 0; host, once.
    pub paths: u64,
    /// Where in a thread area its counters end; host, once.
    pub counters_end: u64,
    /// Latest registered [`stream::Ring`], 0 for none; runtime, linked through `previous`.
    pub latest_ring: AtomicU64,
    /// Advances when a chunk of a ring is full, and wakes the host; runtime (futex).
    pub chunks: AtomicU32,
    /// Advances several times a second as long as the host reads rings; host.
    pub beat: AtomicU32,
    /// Offsets of [`thread::ThreadArea`]s that were given back and read as zero, 0 for none; host puts them there,
    /// whoever registers a thread takes one.
    pub spare_areas: [AtomicU64; SPARE_AREAS],
    /// 1 if counters are to be named by their distance from the program counter, which suits some processors; host,
    /// once.
    pub by_distance: u32,
    /// 1 if `loop` takes no longer than a comparison and a branch, which suits some processors; host, once.
    pub quick_loop: u32,
    /// Advances with each request, and wakes the host; runtime (futex).
    pub requests: AtomicU32,
    /// Requests to the host.
    pub mailboxes: [Mailbox; MAILBOXES],
}

/// A request from a thread of the target to the host.
#[repr(C)]
pub struct Mailbox {
    /// A [`mailbox_state`] (futex): runtime takes and asks, host answers, runtime frees.
    pub state: AtomicU32,
    /// Thread that asks; runtime.
    pub tid: AtomicU32,
    /// Its [`thread::ThreadArea`]; runtime.
    pub thread: AtomicU64,
    /// Directory descriptor, address of the path, and flags, as for `execveat`; runtime.
    pub what: [AtomicU64; 3],
}

/// Values of [`Mailbox::state`].
pub mod mailbox_state {
    /// Nobody uses it.
    pub const FREE: u32 = 0;
    /// A thread is filling it in.
    pub const TAKEN: u32 = 1;
    /// The thread is about to call `execve` and asks to be followed.
    pub const ASKED: u32 = 2;
    /// The host follows: the thread may go on.
    pub const GRANTED: u32 = 3;
    /// The host cannot follow: the new program will run natively.
    pub const REFUSED: u32 = 4;
    /// The `execve` failed: the host is to let go.
    pub const WITHDRAWN: u32 = 5;
}

/// What made counts incomplete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Failure {
    /// Nothing.
    None = 0,
    /// The shared file is full.
    SharedFull = 1,
    /// A thread area has no room for a further counter.
    CountersFull = 2,
    /// No room for translated code near the code that it comes from.
    CacheFull = 3,
    /// The runtime came upon something that it does not handle.
    Unsupported = 4,
    /// The runtime contradicted itself.
    Internal = 5,
    /// The process may not have memory that is both writable and executable.
    WritableCodeDenied = 6,
    /// The kernel gave the process no more memory.
    MemoryRefused = 7,
}

impl SharedHeader {
    /// What made counts incomplete, if anything did.
    pub fn failure(&self) -> Option<Failure> {
        match self.failure.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(Failure::SharedFull),
            2 => Some(Failure::CountersFull),
            3 => Some(Failure::CacheFull),
            4 => Some(Failure::Unsupported),
            6 => Some(Failure::WritableCodeDenied),
            7 => Some(Failure::MemoryRefused),
            _ => Some(Failure::Internal),
        }
    }
}
