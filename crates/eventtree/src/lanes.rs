//! The threads of a run, and which are the same in another run.

use std::collections::{BTreeMap, HashMap};
use timewise_profile::{OsEvent, ProcessId, Profile, RunId, RunKind, ThreadId};

/// A process by its place among those of its run: the same in each run of a program that does the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessKey(u32);

/// Where a thread stands among those of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneKey {
    /// Its process.
    pub process: ProcessKey,
    /// How many threads its process had before.
    pub thread: u32,
}

/// What makes a process the same: the one that made it, the program's file name, empty for the program that the first process
/// executes in the end, whose name may be another in another build; and how many children of that name its maker made before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Descent {
    parent: Option<ProcessKey>,
    name: Vec<u8>,
    before: u32,
}

/// The processes of all runs that are compared.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    keys: HashMap<Descent, ProcessKey>,
    all: Vec<Descent>,
}

impl Processes {
    fn key(&mut self, descent: Descent) -> ProcessKey {
        let next = ProcessKey(self.all.len() as u32);
        let all = &mut self.all;
        *self.keys.entry(descent.clone()).or_insert_with(|| {
            all.push(descent);
            next
        })
    }

    /// A process and those above it, each as its name, and how many children of that name its maker made before.
    pub fn ancestry(&self, key: ProcessKey) -> impl Iterator<Item = (&[u8], u32)> {
        let descent = |key: ProcessKey| &self.all[key.0 as usize];
        let upwards = std::iter::successors(Some(descent(key)), move |below| below.parent.map(descent));
        upwards.map(|descent| (descent.name.as_slice(), descent.before))
    }
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
pub fn of_runs<'a>(profile: &'a Profile, known: &mut Processes) -> Vec<Lanes<'a>> {
    let mut events: Vec<Vec<&OsEvent>> = vec![Vec::new(); profile.threads.len()];
    for event in &profile.os_events {
        events[event.thread.index()].push(event);
    }
    let mut processes = Ordered::new(profile, &events);
    let runs = profile.runs.iter().enumerate().filter(|(_, run)| run.kind == RunKind::Events);
    let mut lanes: BTreeMap<RunId, Lanes> = runs.map(|(id, _)| (RunId(id as u32), Lanes::new())).collect();
    for process in 0..profile.processes.len() {
        let Some(lanes) = lanes.get_mut(&profile.processes[process].run) else { continue };
        for number in 0..processes.threads[process].len() {
            let thread = processes.threads[process][number];
            let key =
                LaneKey { process: processes.key(ProcessId(process as u32), known), thread: number as u32 };
            lanes.insert(key, Lane { thread, events: std::mem::take(&mut events[thread.index()]) });
        }
    }
    lanes.into_values().collect()
}

/// Processes and threads in the order in which they began.
struct Ordered<'a> {
    profile: &'a Profile,
    /// The program of the first process of each run.
    firsts: Vec<Option<&'a [u8]>>,
    /// Of each process, those with events.
    threads: Vec<Vec<ThreadId>>,
    /// Of each process, how many siblings of its name began before.
    ordinals: Vec<u32>,
    keys: Vec<Option<ProcessKey>>,
    /// Those that were gone up from, or are.
    passed: Vec<bool>,
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
        let firsts = firsts(profile);
        let mut seen: HashMap<(RunId, Option<ProcessId>, &[u8]), u32> = HashMap::new();
        let mut ordinals = vec![0; threads.len()];
        for process in order {
            let row = &profile.processes[process];
            let before = seen.entry((row.run, row.parent, name(profile, &firsts, process))).or_default();
            ordinals[process] = *before;
            *before += 1;
        }
        let (keys, passed) = (vec![None; threads.len()], vec![false; threads.len()]);
        Ordered { profile, firsts, threads, ordinals, keys, passed }
    }

    /// That of a process, once those of all above it are known.
    fn key(&mut self, process: ProcessId, known: &mut Processes) -> ProcessKey {
        let mut unknown = Vec::new();
        let mut next = Some(process);
        // A damaged file may have a process among those that it descends from.
        while let Some(at) = next.filter(|at| !std::mem::replace(&mut self.passed[at.index()], true)) {
            unknown.push(at);
            next = self.profile.processes[at.index()].parent;
        }
        let mut parent = next.and_then(|above| self.keys[above.index()]);
        while let Some(at) = unknown.pop() {
            let (name, before) =
                (name(self.profile, &self.firsts, at.index()).to_vec(), self.ordinals[at.index()]);
            let key = known.key(Descent { parent, name, before });
            self.keys[at.index()] = Some(key);
            parent = Some(key);
        }
        parent.unwrap_or(ProcessKey(0))
    }
}

/// By what a process is known among its siblings.
fn name<'a>(profile: &'a Profile, firsts: &[Option<&[u8]>], process: usize) -> &'a [u8] {
    let row = &profile.processes[process];
    let is_firsts = row.parent.is_none() || firsts[row.run.index()] == Some(&row.executable);
    if is_firsts { &[] } else { file_name(&row.executable) }
}

/// The program of the first process of each run.
fn firsts(profile: &Profile) -> Vec<Option<&[u8]>> {
    let mut firsts = vec![None; profile.runs.len()];
    for process in profile.processes.iter().filter(|process| process.parent.is_none()) {
        firsts[process.run.index()].get_or_insert(&process.executable[..]);
    }
    firsts
}

/// The last part of a path.
pub fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}
