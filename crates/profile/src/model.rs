//! The tables of a profile, as plain values. Ids are indexes into the table of their name.

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            /// Position in the table that this id indexes.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// Index into [`Profile::runs`].
    RunId,
    /// Index into [`Profile::processes`].
    ProcessId,
    /// Index into [`Profile::threads`].
    ThreadId,
    /// Index into [`Profile::modules`].
    ModuleId,
    /// Index into [`Profile::files`].
    FileId,
    /// Index into [`Profile::functions`].
    FunctionId,
    /// Index into [`Profile::blocks`].
    BlockId,
    /// Index into [`Profile::stacks`].
    StackId,
}

/// Link-time virtual address within a module; for code without a file, relative to its mapping.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Offset(pub u64);

/// Which code stood at an address when it ran: 0 for code of a file, counting up for code
/// written at run time, whose bytes change while the address stays.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct CodeVersion(pub u32);

/// One place in code, independent of where the module was loaded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The module that holds the code.
    pub module: ModuleId,
    /// Which of the codes that stood there.
    pub version: CodeVersion,
    /// Where in the module.
    pub offset: Offset,
}

/// Everything that one `.tw` file stores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Executions of the program, in order.
    pub runs: Vec<Run>,
    /// Processes of all runs.
    pub processes: Vec<Process>,
    /// Threads of all processes.
    pub threads: Vec<Thread>,
    /// Files, JIT mappings and the vDSO that held executed code.
    pub modules: Vec<Module>,
    /// Source files named by line tables.
    pub files: Vec<SourceFile>,
    /// Functions that were sampled or executed.
    pub functions: Vec<Function>,
    /// Source lines of executed or sampled code, sorted by place; a row holds up to the next one.
    pub lines: Vec<Line>,
    /// Call stacks of samples, as a tree from the outermost caller.
    pub stacks: Vec<StackNode>,
    /// Samples in order of time within each run.
    pub samples: Vec<Sample>,
    /// Executed code as blocks in the compiler's sense: no two of one module and version overlap.
    pub blocks: Vec<Block>,
    /// Exact number of executions of each block by each process.
    pub block_counts: Vec<BlockCount>,
    /// Exact number of times control went from one block to another, by process.
    pub edge_counts: Vec<EdgeCount>,
}

/// What a run collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunKind {
    /// Native execution under sampling.
    Sampling,
    /// Execution under exact counting.
    Counting,
}

/// How a program or process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// Returned or called `exit` with this status.
    Code(i32),
    /// Ended by this signal.
    Signal(i32),
    /// Still running when collection stopped, or its end was not seen.
    Unknown,
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
    /// SHA-256 or other stable hash of standard output, if it was captured.
    pub stdout_hash: Option<u64>,
    /// The machine.
    pub machine: Machine,
    /// The clock of the samples (sampling runs only).
    pub clock: Option<Clock>,
    /// Samples that the kernel dropped.
    pub lost_samples: u64,
    /// What a reader must know to trust the numbers, in words; empty if nothing.
    pub warnings: Vec<String>,
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
    /// Core frequency during the run, from calibration or from cycles over time.
    pub core_hz: f64,
    /// Lowest core frequency seen.
    pub core_hz_low: f64,
    /// Highest core frequency seen.
    pub core_hz_high: f64,
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

/// What kind of code a module is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ModuleKind {
    /// A file that was mapped.
    File,
    /// Code that the kernel provides (`[vdso]`).
    Vdso,
    /// Memory that the program wrote code into.
    Jit,
    /// The kernel (samples only).
    Kernel,
    /// Anything else.
    Unknown,
}

/// A file or mapping that holds code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    /// What it is.
    pub kind: ModuleKind,
    /// Path as mapped, or a name such as `[vdso]`, `[jit 0x7f0012340000]`.
    pub path: Vec<u8>,
    /// Build id of the file, empty if it has none.
    pub build_id: Vec<u8>,
}

/// A source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceFile {
    /// Path as the compiler recorded it, made absolute where it says how.
    pub path: String,
}

/// A function, or the nearest thing to it in a stripped module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// First instruction.
    pub place: Place,
    /// Length in bytes.
    pub size: u64,
    /// Demangled name; made from the module and offset when there is no symbol.
    pub name: String,
    /// Name as in the symbol table; empty when there is no symbol.
    pub symbol: String,
    /// Where it is declared, if line tables say so.
    pub file: Option<FileId>,
    /// First line, 0 if unknown.
    pub line: u32,
}

/// Source position of code from `place` up to the next row of the same module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// First byte that the row speaks of.
    pub place: Place,
    /// Source file; `None` ends a sequence.
    pub file: Option<FileId>,
    /// Line, 0 if unknown.
    pub line: u32,
}

/// One frame of a call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackNode {
    /// The caller; `None` for the outermost frame.
    pub parent: Option<StackId>,
    /// Return address in the caller's code (the call is the instruction before it).
    pub return_place: Place,
}

/// One sample of the native run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The thread that was interrupted.
    pub thread: ThreadId,
    /// Nanoseconds from the start of the run.
    pub time_ns: u64,
    /// CPU time of the thread since its previous sample; 0 when the clock counts cycles instead.
    pub weight_ns: u64,
    /// User cycles since the previous sample, when the clock counts cycles.
    pub weight_cycles: Option<u64>,
    /// The instruction that would have executed next; `None` outside all known modules.
    pub place: Option<Place>,
    /// True if the kernel was executing.
    pub kernel: bool,
    /// Callers, if stacks were taken.
    pub stack: Option<StackId>,
}

/// A block in the compiler's sense: one way in at the top, one way out at the bottom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// First instruction.
    pub place: Place,
    /// Instructions in the block.
    pub instructions: u32,
    /// The code itself, as executed.
    pub code: Vec<u8>,
}

/// Executions of a block by a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCount {
    /// Which block.
    pub block: BlockId,
    /// Which process.
    pub process: ProcessId,
    /// How often.
    pub executions: u64,
}

/// How control goes along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EdgeKind {
    /// No branch: the next block follows in memory (also a conditional branch not taken).
    Fallthrough,
    /// Unconditional direct jump.
    Jump,
    /// Conditional branch, taken.
    Branch,
    /// Indirect jump.
    IndirectJump,
    /// Direct call.
    Call,
    /// Indirect call.
    IndirectCall,
    /// Return.
    Return,
    /// System call, to the instruction after it.
    SystemCall,
    /// From nowhere or to nowhere: a thread's start or end, a signal's arrival or return.
    External,
}

/// Times that control went from one block to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeCount {
    /// Where from; `None` when control came from outside (start of a thread, a signal).
    pub from: Option<BlockId>,
    /// Where to; `None` when it left.
    pub to: Option<BlockId>,
    /// In which way.
    pub kind: EdgeKind,
    /// Which process.
    pub process: ProcessId,
    /// How often.
    pub count: u64,
}
