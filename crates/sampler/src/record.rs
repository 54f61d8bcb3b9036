//! What a recording is told of a program, by the kernel's records or by looking: values, whatever they come from.

use timewise_callers::UserStack;
use timewise_target::perf::RawMapping;

/// A record and the moment it speaks of, nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, PartialEq)]
pub struct Stamped {
    /// When.
    pub time_ns: u64,
    /// What.
    pub record: Record,
}

/// What happened.
#[derive(Debug, PartialEq)]
pub enum Record {
    /// The clock of a thread struck.
    Sample(RawSample),
    /// A process mapped executable memory.
    Mapping(RawMapping),
    /// A thread got a name.
    Name {
        /// Its process.
        pid: u32,
        /// The thread.
        tid: u32,
        /// The name.
        name: String,
        /// True if by `exec`, which also replaced all of the process's memory.
        exec: bool,
    },
    /// A thread or process began.
    Fork {
        /// Process of the new thread.
        pid: u32,
        /// The new thread.
        tid: u32,
        /// Process that created it; the same for a thread.
        parent_pid: u32,
    },
    /// A thread ended.
    Exit {
        /// Its process.
        pid: u32,
        /// The thread.
        tid: u32,
    },
    /// The ring was full and records went missing: samples, as the others have a ring to themselves.
    Lost {
        /// How many.
        count: u64,
    },
    /// Records of processes, names and mappings went missing.
    Untracked {
        /// How many.
        count: u64,
    },
    /// The kernel paused an event because it fired too often.
    Throttled,
    /// A thread left its processor.
    Left {
        /// Its process.
        pid: u32,
        /// The thread.
        tid: u32,
        /// It would have gone on, but others had their turn.
        preempted: bool,
    },
    /// The thread of the switch that follows, as it leaves its processor.
    Leaving(RawSample),
    /// A thread got a processor.
    Came {
        /// Its process.
        pid: u32,
        /// The thread.
        tid: u32,
    },
    /// Records of switches went missing.
    Unseen {
        /// How many.
        count: u64,
    },
    /// A thread used CPU time that none of its samples tells.
    Untold {
        /// Its process.
        pid: u32,
        /// The thread.
        tid: u32,
        /// How much.
        time_ns: u64,
    },
    /// From now on no switches are told of.
    SwitchesEnd,
    /// From now on a thread waits here.
    Waiting(RawSample),
    /// A thread has waited where it was found last.
    Waited {
        /// Its process.
        pid: u32,
        /// The thread.
        tid: u32,
        /// How long.
        duration_ns: u64,
        /// How much of that follows from when it ended, and not from its own account.
        unseen_ns: u64,
    },
}

/// One sample as the kernel gives it.
#[derive(Debug, PartialEq)]
pub struct RawSample {
    /// Instruction that would have executed next.
    pub address: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Processor it ran on.
    pub cpu: u32,
    /// Event count since the event's previous overflow: nanoseconds or cycles.
    pub period: u64,
    /// The kernel was executing.
    pub kernel: bool,
    /// Return addresses in the kernel, innermost first.
    pub kernel_callers: Vec<u64>,
    /// Return addresses in the program, innermost first; in a kernel sample the first one is the
    /// instruction after the system call or the one that was interrupted.
    pub user_callers: Vec<u64>,
    /// What the program's callers can be found in, if it was copied.
    pub user_stack: Option<Box<UserStack>>,
}

impl RawSample {
    /// A thread that the kernel holds, about which nothing else is known.
    pub fn in_kernel(pid: u32, tid: u32) -> RawSample {
        RawSample {
            address: 0,
            pid,
            tid,
            cpu: 0,
            period: 0,
            kernel: true,
            kernel_callers: Vec::new(),
            user_callers: Vec::new(),
            user_stack: None,
        }
    }
}
