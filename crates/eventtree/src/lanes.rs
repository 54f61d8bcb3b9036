//! The threads of a run, and which are the same in another run.

use std::collections::{BTreeMap, HashMap};
use timewise_profile::{OsEvent, ProcessId, Profile, RunId, RunKind, ThreadId};

/// Where a thread stands among the processes of its run: the same in each run of a program that does the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneKey {
    /// From the first process to the thread's own: the program's file name, empty for the first process, whose name may
    /// be another in another build; and how many children of that name its parent made before.
    pub processes: Vec<(Vec<u8>, u32)>,
    /// How many threads its process had before.
    pub thread: u32,
}

/// One thread's events, in order.
#[derive(Clone, Debug)]
pub struct Lane<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// What befell it.
    pub events: Vec<&'a OsEvent>,
}

/// The threads of one run that have events.
pub type Lanes<'a> = BTreeMap<LaneKey, Lane<'a>>;

/// Those of each run in which events were recorded.
pub fn of_runs(profile: &Profile) -> Vec<Lanes<'_>> {
    let mut events: Vec<Vec<&OsEvent>> = vec![Vec::new(); profile.threads.len()];
    for event in &profile.os_events {
        events[event.thread.index()].push(event);
    }
    let processes = Ordered::new(profile, &events);
    let runs = profile.runs.iter().enumerate().filter(|(_, run)| run.kind == RunKind::Events);
    let mut lanes: HashMap<RunId, Lanes> = runs.map(|(id, _)| (RunId(id as u32), Lanes::new())).collect();
    for (process, threads) in processes.threads.iter().enumerate() {
        let path = processes.path(ProcessId(process as u32));
        let Some(lanes) = lanes.get_mut(&profile.processes[process].run) else { continue };
        for (number, &thread) in threads.iter().enumerate() {
            let key = LaneKey { processes: path.clone(), thread: number as u32 };
            lanes.insert(key, Lane { thread, events: std::mem::take(&mut events[thread.index()]) });
        }
    }
    let mut lanes: Vec<(RunId, Lanes)> = lanes.into_iter().collect();
    lanes.sort_unstable_by_key(|(run, _)| *run);
    lanes.into_iter().map(|(_, lanes)| lanes).collect()
}

/// Processes and threads in the order in which they began.
struct Ordered<'a> {
    profile: &'a Profile,
    /// Of each process, those with events.
    threads: Vec<Vec<ThreadId>>,
    /// Of each process, how many siblings of its name began before.
    ordinals: Vec<u32>,
}

impl<'a> Ordered<'a> {
    fn new(profile: &'a Profile, events: &[Vec<&OsEvent>]) -> Ordered<'a> {
        let begin =
            |thread: &ThreadId| events[thread.index()].first().map_or(u64::MAX, |event| event.begin_ns);
        let mut threads: Vec<Vec<ThreadId>> = vec![Vec::new(); profile.processes.len()];
        for (id, thread) in profile.threads.iter().enumerate().filter(|(id, _)| !events[*id].is_empty()) {
            threads[thread.process.index()].push(ThreadId(id as u32));
        }
        threads.iter_mut().for_each(|threads| threads.sort_by_key(begin));
        let first = |process: usize| threads[process].first().map_or(u64::MAX, begin);
        let mut order: Vec<usize> = (0..threads.len()).collect();
        order.sort_by_key(|&process| first(process));
        let mut seen: HashMap<(RunId, Option<ProcessId>, &[u8]), u32> = HashMap::new();
        let mut ordinals = vec![0; threads.len()];
        for process in order {
            let row = &profile.processes[process];
            let before = seen.entry((row.run, row.parent, name(profile, process))).or_default();
            ordinals[process] = *before;
            *before += 1;
        }
        Ordered { profile, threads, ordinals }
    }

    fn path(&self, process: ProcessId) -> Vec<(Vec<u8>, u32)> {
        let mut path = Vec::new();
        let mut next = Some(process);
        // A damaged file may have a process among its own ancestors.
        while let Some(at) = next.filter(|_| path.len() <= self.ordinals.len()) {
            path.push((name(self.profile, at.index()).to_vec(), self.ordinals[at.index()]));
            next = self.profile.processes[at.index()].parent;
        }
        path.reverse();
        path
    }
}

/// By what a process is known among its siblings.
fn name(profile: &Profile, process: usize) -> &[u8] {
    let row = &profile.processes[process];
    row.parent.map_or(&[], |_| file_name(&row.executable))
}

/// The last part of a path.
pub fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}
