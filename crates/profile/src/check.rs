//! What holds of every profile that is saved or loaded, so that no reader of one needs to doubt an id.

use crate::model::{BlockCount, FileId, Place, Profile, RunKind, SimulationId};

/// A profile contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistency {
    /// A row refers to a row that is not there.
    #[error("row {row} of {table} refers to row {id} of {target}, which is not there")]
    Dangling {
        /// Table that refers.
        table: &'static str,
        /// Its row.
        row: usize,
        /// Table referred to.
        target: &'static str,
        /// The row expected there.
        id: u32,
    },
    /// A frame of a stack stands before its caller.
    #[error("row {row} of stacks stands before its caller")]
    StackOrder {
        /// The row.
        row: usize,
    },
    /// A block holds no code.
    #[error("row {row} of blocks holds no code")]
    EmptyBlock {
        /// The row.
        row: usize,
    },
    /// A path goes through no block.
    #[error("row {row} of paths has no blocks")]
    EmptyPath {
        /// The row.
        row: usize,
    },
    /// The frequency of a run's core is none.
    #[error("row {row} of runs has a core whose frequency is no number above 0")]
    Frequency {
        /// The row.
        row: usize,
    },
    /// A block ends behind the last address.
    #[error("row {row} of blocks ends behind the last address")]
    BlockEnd {
        /// The row.
        row: usize,
    },
    /// An event ends before it begins.
    #[error("row {row} of os_events ends before it begins")]
    EventEnd {
        /// The row.
        row: usize,
    },
    /// An event is of a run in which none were recorded.
    #[error("row {row} of os_events is of a run in which no events were recorded")]
    EventRun {
        /// The row.
        row: usize,
    },
    /// Numbers add up to more than any program can execute, or more time than any can take.
    #[error("the {numbers} add up to more than any program can execute or take")]
    TooLarge {
        /// What they count.
        numbers: &'static str,
    },
    /// Rows that must be in order of place are not.
    #[error("row {row} of {table} is out of order")]
    PlaceOrder {
        /// Their table.
        table: &'static str,
        /// The first row that does not follow the one before it.
        row: usize,
    },
}

/// No program executes so many instructions in a century, or takes so many nanoseconds of CPU time, and sums of so many fit
/// 64 bits, also when a few profiles are joined.
const MOST: u128 = 1 << 61;

impl Profile {
    /// Checks that every id refers to a row, that callers stand before the frames they called, that blocks hold
    /// code and lines and inlined calls are sorted without repetition, and that no sum of counts overflows.
    ///
    /// # Errors
    /// The first [`Inconsistency`] found.
    pub fn check(&self) -> Result<(), Inconsistency> {
        self.check_runs()?;
        self.check_code()?;
        self.check_samples()?;
        self.check_counts()?;
        self.check_simulations()?;
        self.check_frequencies()?;
        self.check_sums()
    }

    fn check_runs(&self) -> Result<(), Inconsistency> {
        let runs = Target::new("runs", self.runs.len());
        let processes = Target::new("processes", self.processes.len());
        for (row, process) in self.processes.iter().enumerate() {
            runs.has("processes", row, process.run.0)?;
            processes.may_have("processes", row, process.parent.map(|id| id.0))?;
        }
        for (row, thread) in self.threads.iter().enumerate() {
            processes.has("threads", row, thread.process.0)?;
        }
        Ok(())
    }

    fn check_code(&self) -> Result<(), Inconsistency> {
        let modules = Target::new("modules", self.modules.len());
        let files = Target::new("files", self.files.len());
        let check = |table, row, place: Place, file: Option<FileId>| {
            modules.has(table, row, place.module.0)?;
            files.may_have(table, row, file.map(|id| id.0))
        };
        for (row, function) in self.functions.iter().enumerate() {
            check("functions", row, function.place, function.file)?;
        }
        for (row, line) in self.lines.iter().enumerate() {
            check("lines", row, line.place, line.file)?;
        }
        for (row, block) in self.blocks.iter().enumerate() {
            check("blocks", row, block.place, None)?;
            if block.code.is_empty() {
                return Err(Inconsistency::EmptyBlock { row });
            }
            if block.place.offset.0.checked_add(block.code.len() as u64).is_none() {
                return Err(Inconsistency::BlockEnd { row });
            }
        }
        for (row, call) in self.inlined_calls.iter().enumerate() {
            check("inlined_calls", row, call.place, call.file)?;
        }
        in_order("lines", self.lines.iter().map(|line| (line.place, 0)))?;
        in_order("inlined_calls", self.inlined_calls.iter().map(|call| (call.place, call.depth)))
    }

    fn check_samples(&self) -> Result<(), Inconsistency> {
        let modules = Target::new("modules", self.modules.len());
        let threads = Target::new("threads", self.threads.len());
        let stacks = Target::new("stacks", self.stacks.len());
        for (row, node) in self.stacks.iter().enumerate() {
            modules.has("stacks", row, node.return_place.module.0)?;
            if node.parent.is_some_and(|parent| parent.index() >= row) {
                return Err(Inconsistency::StackOrder { row });
            }
        }
        for (row, sample) in self.samples.iter().enumerate() {
            threads.has("samples", row, sample.thread.0)?;
            modules.may_have("samples", row, sample.place.map(|place| place.module.0))?;
            stacks.may_have("samples", row, sample.stack.map(|id| id.0))?;
        }
        for (row, wait) in self.waits.iter().enumerate() {
            threads.has("waits", row, wait.thread.0)?;
            modules.may_have("waits", row, wait.place.map(|place| place.module.0))?;
            stacks.may_have("waits", row, wait.stack.map(|id| id.0))?;
        }
        let names = Target::new("os_names", self.os_names.len());
        for (row, event) in self.os_events.iter().enumerate() {
            threads.has("os_events", row, event.thread.0)?;
            names.may_have("os_events", row, event.name.map(|id| id.0))?;
            names.may_have("os_events", row, event.object.map(|id| id.0))?;
            stacks.may_have("os_events", row, event.stack.map(|id| id.0))?;
            if event.end_ns.is_some_and(|end| end < event.begin_ns) {
                return Err(Inconsistency::EventEnd { row });
            }
            let process = self.threads[event.thread.index()].process;
            let run = self.processes[process.index()].run;
            if self.runs[run.index()].kind != RunKind::Events {
                return Err(Inconsistency::EventRun { row });
            }
        }
        let runs = Target::new("runs", self.runs.len());
        for (row, tally) in self.tallies.iter().enumerate() {
            runs.has("tallies", row, tally.run.0)?;
            modules.has("tallies", row, tally.place.module.0)?;
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<(), Inconsistency> {
        let blocks = Target::new("blocks", self.blocks.len());
        let processes = Target::new("processes", self.processes.len());
        for (row, count) in self.block_counts.iter().enumerate() {
            blocks.has("block_counts", row, count.block.0)?;
            processes.has("block_counts", row, count.process.0)?;
        }
        for (row, edge) in self.edge_counts.iter().enumerate() {
            blocks.may_have("edge_counts", row, edge.from.map(|id| id.0))?;
            blocks.may_have("edge_counts", row, edge.to.map(|id| id.0))?;
            processes.has("edge_counts", row, edge.process.0)?;
        }
        for (row, cost) in self.call_costs.iter().enumerate() {
            blocks.has("call_costs", row, cost.site.0)?;
            blocks.has("call_costs", row, cost.callee.0)?;
            processes.has("call_costs", row, cost.process.0)?;
        }
        let threads = Target::new("threads", self.threads.len());
        for (row, interval) in self.intervals.iter().enumerate() {
            threads.has("intervals", row, interval.thread.0)?;
        }
        let intervals = Target::new("intervals", self.intervals.len());
        for (row, part) in self.interval_blocks.iter().enumerate() {
            intervals.has("interval_blocks", row, part.interval.0)?;
            blocks.has("interval_blocks", row, part.block.0)?;
        }
        for (row, path) in self.paths.iter().enumerate() {
            path.blocks.iter().try_for_each(|block| blocks.has("path_blocks", row, block.0))?;
            if path.blocks.is_empty() {
                return Err(Inconsistency::EmptyPath { row });
            }
        }
        let modules = Target::new("modules", self.modules.len());
        for (row, branch) in self.taken_branches.iter().enumerate() {
            processes.has("taken_branches", row, branch.process.0)?;
            for place in [Some(branch.from), Some(branch.to), branch.next] {
                modules.may_have("taken_branches", row, place.map(|place| place.module.0))?;
            }
        }
        Ok(())
    }

    fn check_simulations(&self) -> Result<(), Inconsistency> {
        let runs = Target::new("runs", self.runs.len());
        for (row, simulation) in self.simulations.iter().enumerate() {
            runs.has("simulations", row, simulation.run.0)?;
        }
        let simulations = Target::new("simulations", self.simulations.len());
        let threads = Target::new("threads", self.threads.len());
        for (row, simulated) in self.simulated_threads.iter().enumerate() {
            simulations.has("simulated_threads", row, simulated.simulation.0)?;
            threads.has("simulated_threads", row, simulated.thread.0)?;
        }
        let simulated = Target::new("simulated_threads", self.simulated_threads.len());
        for (row, window) in self.simulated_windows.iter().enumerate() {
            simulated.has("simulated_windows", row, window.thread.0)?;
        }
        let modules = Target::new("modules", self.modules.len());
        let check = |table, row, simulation: SimulationId, place: Place| {
            simulations.has(table, row, simulation.0)?;
            modules.has(table, row, place.module.0)
        };
        for (row, executed) in self.simulated_instructions.iter().enumerate() {
            check("simulated_instructions", row, executed.simulation, executed.place)?;
        }
        for (row, component) in self.cycle_stacks.iter().enumerate() {
            check("cycle_stacks", row, component.simulation, component.place)?;
        }
        Ok(())
    }

    fn check_frequencies(&self) -> Result<(), Inconsistency> {
        let is_none = |hz: f64| !(hz.is_finite() && hz > 0.0);
        let clocks = self.runs.iter().enumerate().filter_map(|(row, run)| Some((row, run.clock.as_ref()?)));
        let mut wrong = clocks.filter(|(_, clock)| {
            [clock.core_hz, clock.core_hz_low, clock.core_hz_high].into_iter().any(is_none)
        });
        wrong.next().map_or(Ok(()), |(row, _)| Err(Inconsistency::Frequency { row }))
    }

    /// Expects that blocks are there that counts refer to.
    fn check_sums(&self) -> Result<(), Inconsistency> {
        // An instruction takes a byte at least.
        let instructions = |count: &BlockCount| {
            u128::from(count.executions) * self.blocks[count.block.index()].code.len() as u128
        };
        at_most("executions of instructions", self.block_counts.iter().map(instructions), MOST)?;
        at_most("counts of edges", self.edge_counts.iter().map(|edge| edge.count.into()), MOST)?;
        let seen = self.taken_branches.iter().map(|branch| branch.count.into());
        at_most("branches that traces saw", seen, MOST)?;
        let weights = self.taken_branches.iter().map(|branch| branch.weight.into());
        at_most("weights of branches", weights, MOST)?;
        let costs = self.call_costs.iter().map(|cost| cost.instructions.into());
        at_most("costs of calls", costs, MOST)?;
        let of_intervals = self.intervals.iter().map(|interval| interval.instructions.into());
        at_most("instructions of intervals", of_intervals, MOST)?;
        let of_blocks = self.interval_blocks.iter().map(|part| part.instructions.into());
        at_most("instructions of intervals in blocks", of_blocks, MOST)?;
        let of_paths = self.paths.iter().map(|path| u128::from(path.executions) * path.blocks.len() as u128);
        at_most("blocks executed by paths", of_paths, MOST)?;
        let lost_calls = self.runs.iter().filter_map(|run| run.lost_calls);
        at_most("lost calls", lost_calls.map(u128::from), MOST)?;
        let of_threads = self.threads.iter().filter_map(|thread| thread.instructions);
        at_most("instructions of threads", of_threads.map(u128::from), MOST)?;
        let elapsed = self.runs.iter().map(|run| run.elapsed_ns.into());
        at_most("times that runs took", elapsed, MOST)?;
        let used = self.runs.iter().map(|run| u128::from(run.user_ns) + u128::from(run.kernel_ns));
        at_most("CPU times of runs", used, MOST)?;
        let times = self.samples.iter().map(|sample| sample.weight_ns.into());
        at_most("times that samples stand for", times, MOST)?;
        let cycles = self.samples.iter().filter_map(|sample| sample.weight_cycles);
        at_most("cycles that samples stand for", cycles.map(u128::from), MOST)?;
        at_most("waiting times", self.waits.iter().map(|wait| wait.duration_ns.into()), MOST)?;
        let latest =
            self.os_events.iter().map(|event| event.end_ns.unwrap_or(event.begin_ns).max(event.cpu_ns));
        at_most("times of events", latest.max().into_iter().map(u128::from), MOST)?;
        let took = self.os_events.iter().filter_map(|event| Some(event.end_ns? - event.begin_ns));
        at_most("times that events took", took.map(u128::from), MOST)?;
        let tallied = self.tallies.iter().flat_map(|tally| [tally.executions, tally.cpu_ns, tally.variance]);
        at_most("tallies", tallied.map(u128::from), MOST)?;
        let waits = self.waits.iter().filter_map(|wait| wait.times);
        at_most("waits", waits.map(u128::from), MOST)?;
        let cycles = self.simulations.iter().map(|simulation| simulation.cycles.into());
        at_most("simulated cycles", cycles, MOST)?;
        let instructions = self.simulations.iter().map(|simulation| simulation.instructions.into());
        at_most("simulated instructions", instructions, MOST)?;
        let of_threads = self.simulated_threads.iter();
        let of_threads = of_threads.map(|thread| u128::from(thread.cycles) + u128::from(thread.instructions));
        at_most("cycles and instructions of simulated threads", of_threads, 2 * MOST)?;
        let executed = self.simulations.iter().filter_map(|simulation| simulation.executed);
        at_most("instructions of simulated runs", executed.map(u128::from), MOST)?;
        let of_windows = self.simulated_windows.iter();
        let of_windows = of_windows.map(|window| u128::from(window.cycles) + u128::from(window.instructions));
        at_most("cycles and instructions of windows", of_windows, 2 * MOST)?;
        let executed = self.simulated_instructions.iter().map(|row| row.executions.into());
        at_most("simulated executions", executed, MOST)?;
        let parts = self.cycle_stacks.iter().map(|component| component.parts.into());
        at_most("cycles of stacks", parts, MOST)?;
        at_most("lost samples", self.runs.iter().map(|run| run.lost_samples.into()), MOST)?;
        let uncertain = self.processes.iter().map(|process| process.count_uncertainty.into());
        at_most("uncertainties of counts", uncertain, u32::MAX.into())
    }
}

fn at_most(numbers: &'static str, all: impl Iterator<Item = u128>, most: u128) -> Result<(), Inconsistency> {
    if all.fold(0, u128::saturating_add) <= most { Ok(()) } else { Err(Inconsistency::TooLarge { numbers }) }
}

/// Checks that each row stands behind the one before it.
fn in_order(
    table: &'static str,
    keys: impl Iterator<Item = (Place, u32)> + Clone,
) -> Result<(), Inconsistency> {
    match keys.clone().zip(keys.skip(1)).position(|(key, next)| key >= next) {
        Some(before) => Err(Inconsistency::PlaceOrder { table, row: before + 1 }),
        None => Ok(()),
    }
}

/// A table that others refer to.
struct Target {
    name: &'static str,
    rows: usize,
}

impl Target {
    fn new(name: &'static str, rows: usize) -> Self {
        Self { name, rows }
    }

    fn has(&self, table: &'static str, row: usize, id: u32) -> Result<(), Inconsistency> {
        if (id as usize) < self.rows {
            return Ok(());
        }
        Err(Inconsistency::Dangling { table, row, target: self.name, id })
    }

    fn may_have(&self, table: &'static str, row: usize, id: Option<u32>) -> Result<(), Inconsistency> {
        id.map_or(Ok(()), |id| self.has(table, row, id))
    }
}
