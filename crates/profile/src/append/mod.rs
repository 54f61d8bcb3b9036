//! Joining profiles: one takes over the runs of another.
//!
//! What both know of the same code becomes one: equal modules, files, functions and blocks are not
//! repeated, so that samples of one run and counts of another meet at the same places.

mod blocks;
mod later;
mod modules;
mod names;

use self::blocks::Counts;
use crate::model::{
    FileId, Interval, ModuleId, NameId, Place, ProcessId, Profile, RunId, SimulatedInstruction,
    SimulatedThread, SimulatedThreadId, SimulatedWindow, Simulation, SimulationId, StackComponent, StackId,
    StackNode, TakenBranch, Tally, ThreadId,
};
use std::collections::HashMap;
use std::hash::Hash;

impl Profile {
    /// Adds all runs of `other`, which both must pass [`Profile::check`].
    ///
    /// Modules are the same when kind, path and build id are equal and no executed code in them
    /// contradicts it; otherwise they stay apart. Where blocks of the two overlap, they are split until
    /// they do not, unless in the middle of an instruction, and their counts and edges with them.
    ///
    /// # Panics
    /// If an id of either profile refers to no row.
    pub fn append(&mut self, other: Profile) {
        let ids = Renumbering {
            runs: self.runs.len() as u32,
            processes: self.processes.len() as u32,
            threads: self.threads.len() as u32,
            modules: modules::join(self, &other),
            files: join_equal(&mut self.files, &other.files),
        };
        let stacks = join_stacks(self, &other.stacks, &ids);
        names::join_functions(self, other.functions, &ids);
        names::join_lines(self, other.lines, &ids);
        names::join_inlined_calls(self, other.inlined_calls, &ids);
        let mut intervals = other.interval_blocks;
        intervals.iter_mut().for_each(|part| part.interval.0 += self.intervals.len() as u32);
        let counts = Counts {
            blocks: other.block_counts,
            edges: other.edge_counts,
            calls: other.call_costs,
            intervals,
            paths: other.paths,
        };
        blocks::join(self, other.blocks, counts, &ids);

        self.runs.extend(other.runs);
        self.processes.extend(other.processes.into_iter().map(|mut process| {
            process.run = RunId(process.run.0 + ids.runs);
            process.parent = process.parent.map(|parent| ids.process(parent));
            process
        }));
        self.threads.extend(other.threads.into_iter().map(|mut thread| {
            thread.process = ids.process(thread.process);
            thread
        }));
        self.samples.extend(other.samples.into_iter().map(|mut sample| {
            sample.thread = ThreadId(sample.thread.0 + ids.threads);
            sample.place = sample.place.map(|place| ids.place(place));
            sample.stack = sample.stack.map(|stack| stacks[stack.index()]);
            sample
        }));
        self.waits.extend(other.waits.into_iter().map(|mut wait| {
            wait.thread = ThreadId(wait.thread.0 + ids.threads);
            wait.place = wait.place.map(|place| ids.place(place));
            wait.stack = wait.stack.map(|stack| stacks[stack.index()]);
            wait
        }));
        let names = join_equal(&mut self.os_names, &other.os_names);
        let name = |id: NameId| NameId(names[id.index()]);
        self.os_events.extend(other.os_events.into_iter().map(|mut event| {
            event.thread = ThreadId(event.thread.0 + ids.threads);
            event.name = event.name.map(name);
            event.object = event.object.map(name);
            event.stack = event.stack.map(|stack| stacks[stack.index()]);
            event
        }));
        self.tallies.extend(other.tallies.into_iter().map(|tally| Tally {
            run: RunId(tally.run.0 + ids.runs),
            place: ids.place(tally.place),
            ..tally
        }));
        self.intervals.extend(
            other
                .intervals
                .into_iter()
                .map(|interval| Interval { thread: ThreadId(interval.thread.0 + ids.threads), ..interval }),
        );
        self.taken_branches.extend(other.taken_branches.into_iter().map(|branch| TakenBranch {
            process: ids.process(branch.process),
            from: ids.place(branch.from),
            to: ids.place(branch.to),
            next: branch.next.map(|place| ids.place(place)),
            ..branch
        }));
        let before = self.simulations.len() as u32;
        let simulation = |id: SimulationId| SimulationId(id.0 + before);
        self.simulations.extend(
            other
                .simulations
                .into_iter()
                .map(|simulation| Simulation { run: RunId(simulation.run.0 + ids.runs), ..simulation }),
        );
        let threads = self.simulated_threads.len() as u32;
        self.simulated_windows.extend(
            other
                .simulated_windows
                .into_iter()
                .map(|row| SimulatedWindow { thread: SimulatedThreadId(row.thread.0 + threads), ..row }),
        );
        self.simulated_threads.extend(other.simulated_threads.into_iter().map(|row| SimulatedThread {
            simulation: simulation(row.simulation),
            thread: ThreadId(row.thread.0 + ids.threads),
            ..row
        }));
        self.simulated_instructions.extend(other.simulated_instructions.into_iter().map(|row| {
            SimulatedInstruction {
                simulation: simulation(row.simulation),
                place: ids.place(row.place),
                ..row
            }
        }));
        self.cycle_stacks.extend(other.cycle_stacks.into_iter().map(|row| StackComponent {
            simulation: simulation(row.simulation),
            place: ids.place(row.place),
            ..row
        }));
    }
}

/// New ids of the rows of the profile that is added.
struct Renumbering {
    runs: u32,
    processes: u32,
    threads: u32,
    modules: Vec<ModuleId>,
    files: Vec<u32>,
}

impl Renumbering {
    fn process(&self, id: ProcessId) -> ProcessId {
        ProcessId(id.0 + self.processes)
    }

    fn file(&self, id: FileId) -> FileId {
        FileId(self.files[id.index()])
    }

    fn place(&self, place: Place) -> Place {
        Place { module: self.modules[place.module.index()], ..place }
    }
}

/// Adds what is not there yet, and says where everything of `other` is then.
fn join_equal<T: Clone + Eq + Hash>(ours: &mut Vec<T>, other: &[T]) -> Vec<u32> {
    let mut known = HashMap::new();
    for (id, row) in ours.iter().enumerate() {
        known.entry(row.clone()).or_insert(id as u32);
    }
    let mut join = |row: &T| {
        *known.entry(row.clone()).or_insert_with(|| {
            ours.push(row.clone());
            ours.len() as u32 - 1
        })
    };
    other.iter().map(&mut join).collect()
}

/// Joins call stacks; callers stand before the frames they called, so theirs are known in time.
fn join_stacks(profile: &mut Profile, other: &[StackNode], ids: &Renumbering) -> Vec<StackId> {
    let mut known = HashMap::new();
    for (id, node) in profile.stacks.iter().enumerate() {
        known.entry(*node).or_insert(StackId(id as u32));
    }
    let mut joined: Vec<StackId> = Vec::with_capacity(other.len());
    for node in other {
        let node = StackNode {
            parent: node.parent.map(|parent| joined[parent.index()]),
            return_place: ids.place(node.return_place),
        };
        let id = *known.entry(node).or_insert_with(|| {
            profile.stacks.push(node);
            StackId(profile.stacks.len() as u32 - 1)
        });
        joined.push(id);
    }
    joined
}
