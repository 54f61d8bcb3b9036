//! The tables of a profile, as plain values. Ids are indexes into the table of their name.

mod branches;
mod code;
mod counts;
mod events;
mod ids;
mod intervals;
mod paths;
mod run;
mod samples;
mod simulations;
mod tallies;
mod waits;

pub use branches::*;
pub use code::*;
pub use counts::*;
pub use events::*;
pub use ids::*;
pub use intervals::*;
pub use paths::*;
pub use run::*;
pub use samples::*;
pub use simulations::*;
pub use tallies::*;
pub use waits::*;

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
    /// Functions that the compiler put where they were called, sorted by place and depth; of places that were
    /// sampled, or called from by a sampled stack.
    pub inlined_calls: Vec<InlinedCall>,
    /// Call stacks of samples and waits, as a tree from the outermost caller.
    pub stacks: Vec<StackNode>,
    /// Samples in order of time within each run.
    pub samples: Vec<Sample>,
    /// Where threads waited, and how long.
    pub waits: Vec<Wait>,
    /// Names of system calls and signals, and of what they were about, as bytes of the operating system.
    pub os_names: Vec<Vec<u8>>,
    /// What the operating system did, in order of their beginnings within each thread.
    pub os_events: Vec<OsEvent>,
    /// How often some places were executed natively, of programs that ran already.
    pub tallies: Vec<Tally>,
    /// Executed code as blocks in the compiler's sense. Two of one module and version overlap only where
    /// the program jumped into the middle of an instruction.
    pub blocks: Vec<Block>,
    /// Exact number of executions of each block by each process.
    pub block_counts: Vec<BlockCount>,
    /// Exact number of times control went from one block to another, by process.
    pub edge_counts: Vec<EdgeCount>,
    /// What calls cost by call site, callee and process, where that was asked for.
    pub call_costs: Vec<CallCost>,
    /// Stretches of threads' executions, in order for each thread, where they were asked for.
    pub intervals: Vec<Interval>,
    /// What of each was executed in which block.
    pub interval_blocks: Vec<IntervalBlock>,
    /// Paths through functions that were taken, where they were asked for.
    pub paths: Vec<PathCount>,
    /// Branches that traces saw taken, by process.
    pub taken_branches: Vec<TakenBranch>,
    /// Executions on modelled cores.
    pub simulations: Vec<Simulation>,
    /// The threads of these.
    pub simulated_threads: Vec<SimulatedThread>,
    /// What of each thread was simulated, in order for each; nothing of simulations that version 7 of the format kept.
    pub simulated_windows: Vec<SimulatedWindow>,
    /// How often instructions were executed in them.
    pub simulated_instructions: Vec<SimulatedInstruction>,
    /// Where their cycles went.
    pub cycle_stacks: Vec<StackComponent>,
}
