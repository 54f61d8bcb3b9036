//! Executions of the program: how each went, on which machine, and its processes and threads.

use super::{ProcessId, Profile, RunId};
use serde::{Deserialize, Serialize};
use timewise_isa::StableHash;

/// What a run collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunKind {
    /// Native execution under sampling.
    Sampling,
    /// Execution under exact counting.
    Counting,
    /// Native execution with traces of branches taken.
    Branches,
    /// Execution on modelled cores, of which only cycle stacks were kept: counts were there already.
    Simulation,
    /// Native execution with what the operating system did, for which the program was stopped each time.
    Events,
}

/// How a program or process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// Returned or called `exit` with this status.
    Code(i32),
    /// Ended by this signal.
    Signal(i32),
    /// Still running when collection stopped, or its end was not seen.
    #[default]
    Unknown,
}

impl Exit {
    /// How it ended, as what is said of it.
    pub fn in_words(self) -> String {
        match self {
            Exit::Code(code) => format!("ended with status {code}"),
            Exit::Signal(signal) => format!("was ended by signal {signal}"),
            Exit::Unknown => "was not seen to end".into(),
        }
    }
}

/// One execution of the profiled program.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What was collected.
    pub kind: RunKind,
    /// Program and arguments, as bytes of the operating system.
    pub command: Vec<Vec<u8>>,
    /// Working directory.
    pub directory: Vec<u8>,
    /// The environment that the program was given.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// Start, nanoseconds since the Unix epoch.
    pub started_unix_ns: i64,
    /// From start to end of the program.
    pub elapsed_ns: u64,
    /// CPU time in user mode, all threads and waited-for children.
    pub user_ns: u64,
    /// CPU time in the kernel, likewise.
    pub kernel_ns: u64,
    /// How the program ended.
    pub exit: Exit,
    /// Whether addresses were randomised.
    pub randomised_addresses: bool,
    /// Hash of standard output, if it was captured: the same in each run of the same output
    /// ([`HASH_OF_NO_OUTPUT`] if there was none).
    pub stdout_hash: Option<u64>,
    /// The machine.
    pub machine: Machine,
    /// The clock of the samples (sampling runs only).
    pub clock: Option<Clock>,
    /// How callers were found; `None` where samples have none.
    pub call_stacks: Option<CallStacks>,
    /// Samples that the kernel dropped; in runs of kind [`RunKind::Events`], events for which there was no room.
    pub lost_samples: u64,
    /// Whether all that the counted programs executed is in the counts, and they balance; a warning says
    /// otherwise. True of sampling runs.
    pub counts_complete: bool,
    /// Calls of which the end, and so the cost, is not known; `None` where costs of calls were not asked for.
    pub lost_calls: Option<u64>,
    /// What a reader must know to trust the numbers, in words; empty if nothing.
    pub warnings: Vec<String>,
}

/// [`Run::stdout_hash`] of a run that wrote nothing.
pub const HASH_OF_NO_OUTPUT: u64 = StableHash::EMPTY.value();

impl Profile {
    /// The runs of a kind.
    pub fn runs_of(&self, kind: RunKind) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.kind == kind)
    }

    /// How many there are of a kind, at least 1: what is told of an average run is divided by it.
    pub fn runs_to_average(&self, kind: RunKind) -> usize {
        self.runs_of(kind).count().max(1)
    }
}

impl Run {
    /// A run of which only the kind is known: all else is empty, zero or unknown.
    pub fn new(kind: RunKind) -> Run {
        Run {
            kind,
            command: Vec::new(),
            directory: Vec::new(),
            environment: Vec::new(),
            started_unix_ns: 0,
            elapsed_ns: 0,
            user_ns: 0,
            kernel_ns: 0,
            exit: Exit::Unknown,
            randomised_addresses: false,
            counts_complete: true,
            stdout_hash: None,
            machine: Machine::default(),
            clock: None,
            call_stacks: None,
            lost_samples: 0,
            lost_calls: None,
            warnings: Vec::new(),
        }
    }

    /// Whether it is a period of a program that ran before and went on: of one that was launched the end is seen.
    pub fn is_of_a_period(&self) -> bool {
        self.exit == Exit::Unknown && self.elapsed_ns > 0
    }

    /// Whether another profiler recorded it, whose clock does not say along with what it runs.
    pub fn is_imported(&self) -> bool {
        self.clock.as_ref().is_some_and(|clock| clock.scope.is_none())
    }
}

/// The machine of a run.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Processor name as the system gives it.
    pub processor: String,
    /// Kernel release.
    pub kernel: String,
    /// Processors online.
    pub cpus: u32,
}

/// What a sample's weight measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Event name, such as `cycles:upp`, `cpu-clock:u` or `task-clock:u`.
    pub event: String,
    /// True when weights are hardware cycles; false when cycles are estimated from time.
    pub counts_cycles: bool,
    /// `precise_ip` level that the kernel granted.
    pub precise_level: u8,
    /// Requested samples per second of CPU time and thread.
    pub frequency_hz: u32,
    /// What it runs along with; `None` where that is not known, as of recordings that others made.
    pub scope: Option<ClockScope>,
    /// Core frequency during the run, from calibration or from cycles over time.
    pub core_hz: f64,
    /// Lowest core frequency seen.
    pub core_hz_low: f64,
    /// Highest core frequency seen.
    pub core_hz_high: f64,
}

/// What the clock of the samples runs along with. It decides whether short threads are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClockScope {
    /// With each processor, whoever runs there: threads of any length are seen in their due proportion.
    Processors,
    /// With each thread, from its beginning: one that is shorter than a period is never seen.
    Threads,
    /// With the time of day, at which threads are looked for: one that begins and ends between two looks is
    /// never seen.
    Looks,
}

impl ClockScope {
    /// Where its samples are taken, as what follows the name of an event.
    pub fn in_words(self) -> &'static str {
        match self {
            ClockScope::Processors => "on whole processors",
            ClockScope::Threads => "in each thread",
            ClockScope::Looks => "by looking for threads",
        }
    }
}

/// How the callers of samples were found, and of how many samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStacks {
    /// By what.
    pub method: CallStackMethod,
    /// Samples whose callers were looked for.
    pub taken: u64,
    /// Those of which the outermost callers are missing, because the stack was larger than what was copied of
    /// it.
    pub cut_short: u64,
    /// Those that end in code which does not tell its caller.
    pub broken: u64,
}

impl CallStacks {
    /// None yet.
    pub fn by(method: CallStackMethod) -> CallStacks {
        CallStacks { method, taken: 0, cut_short: 0, broken: 0 }
    }
}

/// By what the callers of a sample are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallStackMethod {
    /// The chain of saved frame pointers.
    FramePointers,
    /// The unwind tables of modules.
    UnwindTables,
    /// Unwind tables, and frame pointers through code that has none.
    Both,
}

/// One process of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The run it belongs to.
    pub run: RunId,
    /// Its id in the system, the same after `exec`; 0 where one row stands for several processes of
    /// one executable, because there were too many for rows of their own.
    pub pid: u32,
    /// The process that forked it, if that was profiled.
    pub parent: Option<ProcessId>,
    /// Path of its executable.
    pub executable: Vec<u8>,
    /// How it ended.
    pub exit: Exit,
    /// Counts are exact to within this many executions of any block: 0 normally, one for each
    /// thread whose last position is unknown because somebody else ended it.
    pub count_uncertainty: u32,
}

/// One thread. A counting slot that served several short threads in turn is one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The process it belongs to.
    pub process: ProcessId,
    /// Its id in the system; of the last one, where a slot served several.
    pub tid: u32,
    /// Its name, if known.
    pub name: String,
    /// Instructions executed (counting runs only).
    pub instructions: Option<u64>,
}
