//! What a caller may choose, and what it can watch while a recording runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use timewise_profile::{CallStackMethod, Module, Offset};

/// How to sample.
#[derive(Clone, Debug)]
pub struct Options {
    /// Samples per second of CPU time.
    pub frequency_hz: u32,
    /// Share of the program's time that sampling may cost: where one sample is dear, fewer are taken
    /// than `frequency_hz` says. `None` takes them all.
    pub cost_limit: Option<f64>,
    /// Sample the kernel as well, on behalf of the program.
    pub kernel: bool,
    /// How to find who called.
    pub call_graph: CallGraph,
    /// Bytes at most of the program's stack that are copied with each sample, where callers are found in it; `None`
    /// copies as many as the buffers have room for.
    pub stack_bytes: Option<u32>,
    /// By which means the program is interrupted.
    pub means: Means,
    /// What the event watches.
    pub scope: Scope,
    /// Samples to keep at most. Beyond it, neighbours in a thread are merged, so that a recording
    /// of any length fits in memory and still shows all of the time.
    pub sample_limit: usize,
    /// Bytes at most of the buffer between the kernel and us, on each processor. What finds it full
    /// is lost, and counted.
    pub ring_bytes: usize,
    /// Instructions whose executions are to be counted beside the samples, of a program that runs already: as many as
    /// [`crate::tally::MOST_PLACES`].
    pub tallied: Vec<(Module, Offset)>,
    /// Where to tell how the recording goes.
    pub progress: Arc<Progress>,
}

/// What a profile with counts costs is two orders of magnitude more; and what the program does must
/// not look different for being watched.
const COST_LIMIT: f64 = 0.005;

/// Bytes of stack that fit a record, which ends below 64 KiB, beside everything else in it.
pub(crate) const LARGEST_STACK: u32 = 63 << 10;

/// Holds some hundred frames of most programs; compilers and interpreters of trees go deeper. Copied however little
/// room there is.
const USUAL_STACK: u32 = 16 << 10;

impl Default for Options {
    fn default() -> Options {
        Options {
            frequency_hz: 4000,
            cost_limit: Some(COST_LIMIT),
            kernel: false,
            call_graph: CallGraph::Automatic,
            stack_bytes: None,
            means: Means::Automatic,
            scope: Scope::Automatic,
            sample_limit: 4_000_000,
            ring_bytes: 16 << 20,
            tallied: Vec::new(),
            progress: Arc::default(),
        }
    }
}

impl Options {
    /// Bytes of a stack in which callers are found where little room is certain; none where they are not found in a
    /// copy of it.
    pub(crate) fn unwound_bytes(&self) -> u32 {
        self.unwound_bytes_of(USUAL_STACK)
    }

    /// Likewise where there is room for `room` bytes.
    pub(crate) fn unwound_bytes_of(&self, room: u32) -> u32 {
        match self.call_graph {
            CallGraph::Automatic | CallGraph::UnwindTables => {
                self.stack_bytes.unwrap_or(room.max(USUAL_STACK)).min(LARGEST_STACK)
            }
            CallGraph::FramePointers | CallGraph::Off => 0,
        }
    }
}

/// How the callers of a sample are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallGraph {
    /// By the unwind tables of each module, and by frame pointers through code that has none.
    Automatic,
    /// By frame pointers, which the kernel follows; nothing is copied.
    FramePointers,
    /// By unwind tables alone; a stack ends in code that has none.
    UnwindTables,
    /// Not at all.
    Off,
}

impl CallGraph {
    /// What it is called in a profile; `None` for [`CallGraph::Off`].
    pub(crate) fn method(self) -> Option<CallStackMethod> {
        match self {
            CallGraph::Automatic => Some(CallStackMethod::Both),
            CallGraph::FramePointers => Some(CallStackMethod::FramePointers),
            CallGraph::UnwindTables => Some(CallStackMethod::UnwindTables),
            CallGraph::Off => None,
        }
    }
}

/// By which means a program is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// Performance events where they are permitted, else stops.
    Automatic,
    /// Performance events of the kernel.
    Events,
    /// Stopping its threads for a moment with `ptrace`.
    Stops,
}

/// What an event watches. `docs/sampling.md` tells how the two differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Processors where that is permitted and the machine is small, else threads.
    Automatic,
    /// The program's threads, each of which inherits the event. Needs no privilege. The first
    /// sample of a thread comes after a whole period, so threads shorter than that stay unseen; a
    /// warning says so where they are many.
    Threads,
    /// Every thread on every processor; those of other programs are dropped at once. Needs
    /// `CAP_PERFMON`, and sees short threads in their due proportion.
    Processors,
}

/// The state of a running recording, to be read at any time by any thread.
#[derive(Debug, Default)]
pub struct Progress {
    samples: AtomicU64,
    last_processor: AtomicU32,
}

impl Progress {
    /// Samples taken so far.
    pub fn samples(&self) -> u64 {
        self.samples.load(Ordering::Relaxed)
    }

    /// Processor of the newest sample.
    pub(crate) fn last_processor(&self) -> u32 {
        self.last_processor.load(Ordering::Relaxed)
    }

    pub(crate) fn sampled(&self, cpu: u32) {
        self.samples.fetch_add(1, Ordering::Relaxed);
        self.last_processor.store(cpu, Ordering::Relaxed);
    }
}
