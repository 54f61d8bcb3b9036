//! From records in order of time to the tables of a profile: who ran, in which code, with which
//! callers.

mod waiting;

use crate::options::{CallGraph, Options, Progress};
use crate::record::{RawSample, Record};
use crate::root::Root;
use crate::spells::Spells;
use crate::thinning::Samples;
use crate::waits::{At, Waits};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use timewise_callers::{End, Modules, Stacks, Unwinder};
use timewise_profile::{
    CallStacks, Exit, Module, ModuleKind, Offset, Place, Process, ProcessId, RunId, Sample, Thread, ThreadId,
};
use timewise_target::address_space::AddressSpace;
use timewise_target::perf::RawMapping;

/// What the kernel gives as thread while it does the last of its work for one that it has already
/// taken off its books. That work counts as the first thread's.
const NO_LONGER_A_THREAD: u32 = u32::MAX;

/// Frames that the kernel follows at most, less those that it does not count as callers
/// (`kernel.perf_event_max_stack`).
const KERNEL_DEPTH: usize = 125;

/// The tables as they grow.
#[derive(Debug)]
pub struct Collector {
    /// Start of the run on the records' clock.
    started_ns: u64,
    latest_ns: u64,
    /// Whether the amounts between samples are cycles; else nanoseconds.
    pub counts_cycles: bool,
    progress: Arc<Progress>,
    /// Processes of all runs so far.
    pub processes: Vec<Process>,
    /// Their threads.
    pub threads: Vec<Thread>,
    /// What was mapped.
    pub modules: Modules,
    /// Who called.
    pub stacks: Stacks,
    /// How that was found, and how often not; without it, callers are not looked for.
    pub call_stacks: Option<CallStacks>,
    /// Bytes of the largest copy of a stack.
    pub largest_copy: usize,
    unwinder: Unwinder,
    /// Where time passed.
    pub samples: Samples,
    /// Where threads waited.
    pub waits: Waits,
    /// When they left their processors, where the kernel tells of that.
    pub spells: Spells,
    /// Where looks found each of them last.
    found_at: HashMap<ThreadId, At>,
    /// Samples that found the buffer full, as far as records tell.
    pub lost: u64,
    /// Samples outside of all known code.
    pub unplaced: u64,
    /// Samples in code that the program wrote at run time.
    pub written: u64,
    /// Times that the kernel paused the clock.
    pub throttled: u64,
    /// Records of processes and mappings that went missing.
    pub untracked: u64,
    /// Records of switches that went missing.
    pub unseen: u64,
    /// What of the waiting follows from when threads ended.
    pub unseen_wait_ns: u64,
    /// By system id, until another process gets it: the kernel still works for one that has ended.
    tracked: HashMap<u32, Tracked>,
    /// Likewise for threads.
    tracked_threads: HashMap<u32, ThreadId>,
}

/// A process of the program.
#[derive(Debug)]
struct Tracked {
    id: ProcessId,
    /// Shared with the parent until one of them maps something.
    space: Arc<AddressSpace>,
    /// System ids of the threads that have not ended.
    running: HashSet<u32>,
    /// `exec` happened; the next file mapped is the new program.
    executable_follows: bool,
}

impl Collector {
    /// A recording that begins at `started_ns` with one process; descendants follow by `fork`.
    pub fn new(root: Root, started_ns: u64, counts_cycles: bool, options: &Options) -> Collector {
        let mut collector = Collector {
            started_ns,
            counts_cycles,
            progress: Arc::clone(&options.progress),
            call_stacks: options.call_graph.method().map(CallStacks::by),
            unwinder: Unwinder::new(options.call_graph == CallGraph::Automatic),
            ..Collector::of_strangers(options.sample_limit)
        };
        let mut space = AddressSpace::default();
        for mapping in &root.mappings {
            collector.modules.map(&mut space, mapping);
        }
        collector.add_process(root.pid, None, root.executable, Arc::new(space));
        collector.add_thread(root.pid, root.pid, root.name);
        for (tid, name) in root.others {
            collector.add_thread(root.pid, tid, name);
        }
        collector
    }

    /// A recording of processes that are not known beforehand: each must be admitted. It begins with the
    /// first record that has a time.
    pub fn of_strangers(sample_limit: usize) -> Collector {
        Collector {
            started_ns: 0,
            latest_ns: 0,
            counts_cycles: false,
            progress: Arc::default(),
            processes: Vec::new(),
            threads: Vec::new(),
            modules: Modules::default(),
            stacks: Stacks::default(),
            call_stacks: None,
            largest_copy: 0,
            unwinder: Unwinder::new(true),
            samples: Samples::with_limit(sample_limit),
            waits: Waits::default(),
            spells: Spells::default(),
            found_at: HashMap::new(),
            lost: 0,
            unplaced: 0,
            written: 0,
            throttled: 0,
            untracked: 0,
            unseen: 0,
            unseen_wait_ns: 0,
            tracked: HashMap::new(),
            tracked_threads: HashMap::new(),
        }
    }

    /// Where the first process has an instruction of a module; nothing if it has not mapped it.
    pub fn find(&self, module: &Module, offset: Offset) -> Option<(Place, u64)> {
        let space = &self.tracked.values().find(|tracked| tracked.id == ProcessId(0))?.space;
        let of_it = |place: &Place| self.modules.get(place.module) == module;
        space
            .addresses_of(offset)
            .find_map(|address| space.place(address).filter(of_it).map(|place| (place, address)))
    }

    /// Makes the process of the next record one of ours, whoever began it.
    pub fn admit(&mut self, time_ns: u64, record: &Record) {
        if self.started_ns == 0 {
            self.started_ns = time_ns;
        }
        self.latest_ns = self.latest_ns.max(time_ns);
        let (pid, tid) = match record {
            Record::Sample(raw) => (raw.pid, raw.tid),
            Record::Mapping(raw) => (raw.pid, raw.pid),
            Record::Name { pid, tid, .. } => (*pid, *tid),
            Record::Fork { pid, tid, parent_pid } if !self.tracked.contains_key(parent_pid) => (*pid, *tid),
            _ => return,
        };
        if !self.tracked.contains_key(&pid) {
            self.add_process(pid, None, Vec::new(), Arc::default());
            self.add_thread(pid, tid, String::new());
            if let Some(process) = self.tracked.get_mut(&pid) {
                process.executable_follows = true;
            }
        }
    }

    /// From the first admitted record to the last.
    pub fn elapsed_ns(&self) -> u64 {
        self.latest_ns.saturating_sub(self.started_ns)
    }

    /// Takes the next record. Those of processes that do not descend from the root are ignored.
    pub fn take(&mut self, time_ns: u64, record: Record) {
        match record {
            Record::Sample(raw) => self.sample(time_ns, &raw),
            Record::Mapping(raw) => self.mapping(&raw),
            Record::Name { pid, tid, name, exec } => self.name(pid, tid, name, exec),
            Record::Fork { pid, tid, parent_pid } => self.fork(pid, tid, parent_pid),
            Record::Exit { pid, tid } => self.exit(pid, tid),
            Record::Lost { count } => self.lost = self.lost.saturating_add(count),
            Record::Untracked { count } => self.untracked += count,
            Record::Throttled => self.throttled += 1,
            Record::Leaving(raw) => self.leaving(raw),
            Record::Left { pid, tid, preempted } => self.left(time_ns, (pid, tid), preempted),
            Record::Came { pid, tid } => self.came(time_ns, (pid, tid)),
            Record::Unseen { count } => {
                self.unseen += count;
                self.spells.forget();
            }
            Record::Untold { pid, tid, time_ns } => {
                if let Some(thread) = self.thread(pid, tid) {
                    self.samples.tell(thread, time_ns);
                }
            }
            Record::SwitchesEnd => self.finish_waits(time_ns),
            Record::Waiting(raw) => self.waiting(&raw),
            Record::Waited { pid, tid, duration_ns, unseen_ns } => {
                self.waited((pid, tid), duration_ns, unseen_ns);
            }
        }
    }

    /// Processes that have not ended.
    pub fn alive(&self) -> usize {
        self.tracked.values().filter(|process| !process.running.is_empty()).count()
    }

    fn add_process(
        &mut self,
        pid: u32,
        parent: Option<ProcessId>,
        executable: Vec<u8>,
        space: Arc<AddressSpace>,
    ) {
        let id = ProcessId(self.processes.len() as u32);
        self.processes.push(Process {
            run: RunId(0),
            pid,
            parent,
            executable,
            exit: Exit::Unknown,
            count_uncertainty: 0,
        });
        let running = HashSet::new();
        self.tracked.insert(pid, Tracked { id, space, running, executable_follows: false });
    }

    fn add_thread(&mut self, pid: u32, tid: u32, name: String) -> Option<ThreadId> {
        let process = self.tracked.get_mut(&pid)?;
        process.running.insert(tid);
        let id = ThreadId(self.threads.len() as u32);
        self.threads.push(Thread { process: process.id, tid, name, instructions: None });
        self.tracked_threads.insert(tid, id);
        Some(id)
    }

    /// The thread of a tracked process; one whose beginning was lost is made up.
    fn thread(&mut self, pid: u32, tid: u32) -> Option<ThreadId> {
        let process = self.tracked.get(&pid)?.id;
        let known = self.tracked_threads.get(&tid).copied();
        match known.filter(|id| self.threads[id.index()].process == process) {
            Some(id) => Some(id),
            None => self.add_thread(pid, tid, self.name_of(pid)),
        }
    }

    fn name_of(&self, tid: u32) -> String {
        self.tracked_threads.get(&tid).map_or_else(String::new, |id| self.threads[id.index()].name.clone())
    }

    fn sample(&mut self, time_ns: u64, raw: &RawSample) {
        let tid = if raw.tid == NO_LONGER_A_THREAD { raw.pid } else { raw.tid };
        let Some(thread) = self.thread(raw.pid, tid) else { return };
        let Some(process) = self.tracked.get(&raw.pid) else { return };
        let mut callers: Vec<Place> =
            raw.kernel_callers.iter().map(|&address| self.modules.kernel_place(address)).collect();
        if let Some(stacks) = &mut self.call_stacks {
            let space = &process.space;
            let end = match &raw.user_stack {
                Some(stack) => {
                    self.largest_copy = self.largest_copy.max(stack.bytes.len());
                    if raw.kernel {
                        callers.extend(space.place(stack.registers.ip));
                    }
                    let end = self.unwinder.callers(stack, space, &self.modules, &mut callers);
                    let chain = (&raw.user_callers[..], raw.user_callers.len() < KERNEL_DEPTH);
                    self.unwinder.go_on(end, chain, (space, &self.modules), &mut callers)
                }
                None => chain(&raw.user_callers, space, &mut callers),
            };
            stacks.taken += 1;
            stacks.cut_short += u64::from(end == End::CutShort);
            stacks.broken += u64::from(end == End::Broken);
        }
        let place = match raw.kernel {
            true => Some(self.modules.kernel_place(raw.address)),
            false => process.space.place(raw.address),
        };
        self.unplaced += u64::from(place.is_none());
        let written = place.is_some_and(|place| self.modules.kind(place.module) == ModuleKind::Jit);
        self.written += u64::from(written);
        self.progress.sampled(raw.cpu);
        self.samples.push(Sample {
            thread,
            time_ns: time_ns.saturating_sub(self.started_ns),
            weight_ns: if self.counts_cycles { 0 } else { raw.period },
            weight_cycles: self.counts_cycles.then_some(raw.period),
            place,
            kernel: raw.kernel,
            stack: self.stacks.intern(&callers),
        });
    }

    fn mapping(&mut self, raw: &RawMapping) {
        let Some(process) = self.tracked.get_mut(&raw.pid) else { return };
        self.modules.map(Arc::make_mut(&mut process.space), raw);
        if std::mem::take(&mut process.executable_follows) {
            self.processes[process.id.index()].executable = raw.path.clone();
        }
    }

    fn name(&mut self, pid: u32, tid: u32, name: String, exec: bool) {
        if exec && let Some(process) = self.tracked.get_mut(&pid) {
            process.space = Arc::default();
            // All other threads are gone, and the one that called has the id of the first.
            process.running = HashSet::from([tid]);
            process.executable_follows = true;
        }
        if let Some(thread) = self.thread(pid, tid) {
            self.threads[thread.index()].name = name;
        }
    }

    fn fork(&mut self, pid: u32, tid: u32, parent_pid: u32) {
        let Some(parent) = self.tracked.get(&parent_pid) else { return };
        if pid != parent_pid {
            let executable = self.processes[parent.id.index()].executable.clone();
            let (parent, space) = (parent.id, Arc::clone(&parent.space));
            self.add_process(pid, Some(parent), executable, space);
        }
        self.add_thread(pid, tid, self.name_of(parent_pid));
    }

    fn exit(&mut self, pid: u32, tid: u32) {
        let Some(process) = self.tracked.get_mut(&pid) else { return };
        process.running.remove(&tid);
        if let Some(&thread) = self.tracked_threads.get(&tid) {
            self.spells.ended(thread, &mut self.waits);
        }
        if process.running.is_empty() {
            process.space = Arc::default();
        }
    }
}

/// Callers as the kernel found them by frame pointers. Where code uses the register for something else, the
/// chain soon leaves all code: what follows is no caller.
fn chain(addresses: &[u64], space: &AddressSpace, callers: &mut Vec<Place>) -> End {
    let known = addresses.iter().map_while(|&address| space.place(address));
    let before = callers.len();
    callers.extend(known);
    match callers.len() - before {
        found if found < addresses.len() => End::Broken,
        KERNEL_DEPTH.. => End::CutShort,
        _ => End::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::Offset;
    use timewise_target::perf::FileIdentity;

    fn mapping(pid: u32, address: u64, path: &str) -> RawMapping {
        let identity = FileIdentity::Inode { device: 0, inode: 0 };
        RawMapping { pid, address, length: 0x1000, file_offset: 0, identity, path: path.into() }
    }

    fn sample(pid: u32, tid: u32, address: u64, user_callers: Vec<u64>) -> Record {
        let kernel_callers = Vec::new();
        Record::Sample(RawSample {
            address,
            pid,
            tid,
            cpu: 0,
            period: 9,
            kernel: false,
            kernel_callers,
            user_callers,
            user_stack: None,
        })
    }

    fn collector() -> Collector {
        let root = Root {
            pid: 10,
            executable: b"/a".into(),
            name: "a".into(),
            others: Vec::new(),
            mappings: vec![mapping(10, 0x1000, "/a")],
        };
        let options = Options { call_graph: CallGraph::FramePointers, ..Options::default() };
        Collector::new(root, 100, false, &options)
    }

    #[test]
    fn children_share_memory_until_exec_and_strangers_are_ignored() {
        let mut c = collector();
        c.take(110, Record::Fork { pid: 20, tid: 20, parent_pid: 10 });
        c.take(111, Record::Fork { pid: 99, tid: 99, parent_pid: 98 });
        c.take(120, sample(20, 20, 0x1010, vec![0x1020, 0x9999, 0x1030]));
        c.take(121, sample(99, 99, 0x1010, vec![]));
        c.take(122, Record::Mapping(mapping(20, 0x2000, "/b")));
        c.take(123, sample(10, 10, 0x2000, vec![]));
        c.take(124, Record::Name { pid: 20, tid: 20, name: "c".into(), exec: true });
        c.take(125, sample(20, 20, 0x1010, vec![]));
        c.take(126, Record::Mapping(mapping(20, 0x1000, "/c")));
        c.take(127, sample(20, 20, 0x1010, vec![]));
        assert_eq!(c.processes.len(), 2);
        assert_eq!(c.processes[1].parent, Some(ProcessId(0)));
        assert_eq!(c.processes[1].executable, b"/c");
        assert_eq!(c.threads[1].name, "c");
        assert_eq!(c.unplaced, 2);
        let (samples, modules) = (c.samples.into_vec(), c.modules.into_vec());
        let path = |sample: &Sample| sample.place.map(|p| modules[p.module.index()].path.clone());
        let paths: Vec<_> = samples.iter().map(path).collect();
        assert_eq!(paths, [Some(b"/a".to_vec()), None, None, Some(b"/c".to_vec())]);
        assert_eq!(samples[0].time_ns, 20);
        // The chain ends where it leaves all code.
        let stacks = c.stacks.into_vec();
        assert_eq!(stacks.len(), 1);
        assert_eq!(stacks[0].return_place.offset, Offset(0x20));
    }

    #[test]
    fn reused_ids_are_new_rows() {
        let mut c = collector();
        for _ in 0..2 {
            c.take(1, Record::Fork { pid: 10, tid: 11, parent_pid: 10 });
            c.take(2, sample(10, 11, 0x1000, vec![]));
            c.take(3, Record::Exit { pid: 10, tid: 11 });
            c.take(4, Record::Fork { pid: 12, tid: 12, parent_pid: 10 });
            c.take(5, sample(12, 12, 0x1000, vec![]));
            c.take(6, Record::Exit { pid: 12, tid: 12 });
            c.take(7, sample(12, 12, 0x1000, vec![]));
        }
        assert_eq!(c.threads.iter().map(|t| t.tid).collect::<Vec<_>>(), [10, 11, 12, 11, 12]);
        assert_eq!(c.processes.len(), 3);
        c.take(8, sample(10, NO_LONGER_A_THREAD, 0x1000, vec![]));
        // What the kernel does for a process that has ended is its last thread's.
        let threads: Vec<u32> = c.samples.into_vec().iter().map(|s| s.thread.0).collect();
        assert_eq!(threads, [1, 2, 2, 3, 4, 4, 0]);
    }

    #[test]
    fn exec_by_any_thread_ends_the_others() {
        let mut c = collector();
        c.take(1, Record::Fork { pid: 10, tid: 11, parent_pid: 10 });
        // Thread 11 calls exec: thread 10 ends and 11 goes on as 10.
        c.take(2, Record::Exit { pid: 10, tid: 10 });
        c.take(3, Record::Name { pid: 10, tid: 10, name: "b".into(), exec: true });
        assert_eq!(c.alive(), 1);
        c.take(4, Record::Exit { pid: 10, tid: 10 });
        assert_eq!(c.alive(), 0);
    }
}
