//! The processes and threads that a recording has, by what its records tell of those that begin and end.

use crate::record::{Record, Stamped};
use std::collections::{BTreeMap, BTreeSet};

/// So long a process is remembered that has ended: records of several processors do not come in order of time.
const REMEMBERED_NS: u64 = 1_000_000_000;

/// So often it is asked whether a parent is known: one processor's records may be read right before what another one's
/// tell, and are then read with the next.
const TIMES_HEARD: u32 = 2;

/// Who lives, and who ended of late.
#[derive(Debug)]
pub struct Roster {
    processes: BTreeMap<i32, Process>,
    ended: Vec<Ended>,
    /// Those that began before it was heard that their parents did.
    unplaced: Vec<(u64, Told)>,
}

/// What a record tells.
#[derive(Clone, Copy, Debug)]
enum Told {
    /// A thread began; how often that was heard without its parent being known.
    Began { pid: i32, tid: i32, parent: i32, heard: u32 },
    /// A thread ended.
    Ended { pid: i32, tid: i32 },
    /// A process became another program.
    Executed { pid: i32 },
}

#[derive(Debug)]
struct Process {
    parent: i32,
    /// Those that live, and since when.
    threads: BTreeMap<i32, u64>,
    /// When the last of them ended.
    ended_ns: Option<u64>,
}

/// A thread that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its process.
    pub pid: i32,
    /// Its id.
    pub tid: i32,
    /// From when.
    pub begun_ns: u64,
    /// To when it lived.
    pub ended_ns: u64,
}

impl Roster {
    /// Of a recording that begins with one process.
    pub fn of(pid: i32, threads: impl IntoIterator<Item = i32>, now_ns: u64) -> Roster {
        let threads = threads.into_iter().map(|tid| (tid, now_ns)).collect();
        let process = Process { parent: 0, threads, ended_ns: None };
        Roster { processes: BTreeMap::from([(pid, process)]), ended: Vec::new(), unplaced: Vec::new() }
    }

    /// Takes note of who begins and ends; of processes that do not descend from the first, nothing.
    pub fn hear<'a>(&mut self, records: impl IntoIterator<Item = &'a Stamped>) {
        let told = |Stamped { time_ns, record }: &Stamped| match *record {
            Record::Fork { pid, tid, parent_pid } => {
                let began =
                    Told::Began { pid: pid as i32, tid: tid as i32, parent: parent_pid as i32, heard: 1 };
                Some((*time_ns, began))
            }
            Record::Exit { pid, tid } => Some((*time_ns, Told::Ended { pid: pid as i32, tid: tid as i32 })),
            Record::Name { pid, exec: true, .. } => Some((*time_ns, Told::Executed { pid: pid as i32 })),
            _ => None,
        };
        let mut all: Vec<(u64, Told)> = records.into_iter().filter_map(told).collect();
        all.append(&mut self.unplaced);
        all.sort_by_key(|(time_ns, _)| *time_ns);
        for &(time_ns, told) in &all {
            match told {
                Told::Began { pid, tid, parent, heard } => {
                    if self.processes.contains_key(&parent) {
                        self.began(pid, tid, parent, time_ns);
                    } else if heard < TIMES_HEARD {
                        self.unplaced.push((time_ns, Told::Began { pid, tid, parent, heard: heard + 1 }));
                    }
                }
                Told::Ended { pid, tid } => self.end(pid, tid, time_ns),
                Told::Executed { pid } => self.executed(pid, time_ns),
            }
        }
        if let Some(&(last_ns, _)) = all.last() {
            let is_over = |process: &Process| {
                process.ended_ns.is_some_and(|at| at.saturating_add(REMEMBERED_NS) <= last_ns)
            };
            let over = self.processes.iter().filter(|(_, process)| is_over(process)).map(|(&pid, _)| pid);
            self.forget(&over.collect());
        }
    }

    /// Nobody descends from them any more: their numbers may be given to others.
    fn forget(&mut self, pids: &BTreeSet<i32>) {
        if pids.is_empty() {
            return;
        }
        self.processes.retain(|pid, _| !pids.contains(pid));
        for process in self.processes.values_mut().filter(|process| pids.contains(&process.parent)) {
            process.parent = 0;
        }
    }

    fn began(&mut self, pid: i32, tid: i32, parent: i32, time_ns: u64) {
        if pid != parent {
            // Of whoever had the number before, the end was not told.
            let former = self.processes.get(&pid).map(|process| process.threads.keys().copied().collect());
            let former: Vec<i32> = former.unwrap_or_default();
            former.into_iter().for_each(|tid| self.end(pid, tid, time_ns));
            self.forget(&BTreeSet::from([pid]));
            let process = Process { parent, threads: BTreeMap::new(), ended_ns: None };
            self.processes.insert(pid, process);
        }
        if let Some(process) = self.processes.get_mut(&pid) {
            process.threads.entry(tid).or_insert(time_ns);
        }
    }

    /// A thread ended; nothing if it is not there.
    pub fn end(&mut self, pid: i32, tid: i32, ended_ns: u64) {
        if let Some(process) = self.processes.get_mut(&pid)
            && let Some(begun_ns) = process.threads.remove(&tid)
        {
            self.ended.push(Ended { pid, tid, begun_ns, ended_ns });
            process.ended_ns = process.threads.is_empty().then_some(ended_ns);
        }
    }

    /// A process became another program, whose only thread has its id: whichever called, and whatever that was.
    fn executed(&mut self, pid: i32, time_ns: u64) {
        let Some(process) = self.processes.get(&pid) else { return };
        let others: Vec<i32> = process.threads.keys().copied().filter(|&tid| tid != pid).collect();
        others.into_iter().for_each(|tid| self.end(pid, tid, time_ns));
        if let Some(process) = self.processes.get_mut(&pid) {
            process.threads.entry(pid).or_insert(time_ns);
            process.ended_ns = None;
        }
    }

    /// Processes that live, or ended of late.
    pub fn processes(&self) -> Vec<i32> {
        self.processes.keys().copied().collect()
    }

    /// Adds threads of a process of which nobody told.
    pub fn add(&mut self, pid: i32, threads: impl IntoIterator<Item = i32>, now_ns: u64) {
        if let Some(process) = self.processes.get_mut(&pid) {
            threads.into_iter().for_each(|tid| _ = process.threads.entry(tid).or_insert(now_ns));
        }
    }

    /// Those that live: process, id, and since when.
    pub fn threads(&self) -> impl Iterator<Item = (i32, i32, u64)> {
        let of = |(&pid, process): (&i32, &Process)| {
            process.threads.iter().map(move |(&tid, &begun_ns)| (pid, tid, begun_ns)).collect::<Vec<_>>()
        };
        self.processes.iter().flat_map(of)
    }

    /// Those that ended since the last time.
    pub fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    /// Who started a process that lives, or ended of late; nobody started the first.
    pub fn parent(&self, pid: i32) -> Option<i32> {
        self.processes.get(&pid).map(|process| process.parent).filter(|&parent| parent != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster(records: Vec<(u64, Record)>) -> Roster {
        let records: Vec<Stamped> =
            records.into_iter().map(|(time_ns, record)| Stamped { time_ns, record }).collect();
        let mut roster = Roster::of(1, [1], 10);
        roster.hear(&records);
        roster
    }

    fn fork(pid: u32, tid: u32, parent_pid: u32) -> Record {
        Record::Fork { pid, tid, parent_pid }
    }

    #[test]
    fn descendants_are_known_also_when_their_parent_has_ended() {
        // As two processors tell: not in order of time.
        let mut roster = roster(vec![
            (40, fork(3, 3, 2)),
            (60, fork(3, 4, 3)),
            (50, Record::Exit { pid: 2, tid: 2 }),
            (20, fork(2, 2, 1)),
            (30, fork(8, 8, 7)),
        ]);
        assert_eq!(roster.threads().collect::<Vec<_>>(), [(1, 1, 10), (3, 3, 40), (3, 4, 60)]);
        assert_eq!(roster.take_ended(), [Ended { pid: 2, tid: 2, begun_ns: 20, ended_ns: 50 }]);
        assert_eq!((roster.parent(3), roster.parent(2), roster.parent(1)), (Some(2), Some(1), None));
        let exit = Record::Exit { pid: 3, tid: 4 };
        roster.hear(&[Stamped { time_ns: 3_000_000_000, record: exit }]);
        assert_eq!(roster.parent(2), None);
        assert_eq!(roster.take_ended().len(), 1);
    }

    /// What one processor tells is read before what another does, and told with the next.
    #[test]
    fn parents_may_be_heard_of_later() {
        let hear = |roster: &mut Roster, time_ns, record| roster.hear(&[Stamped { time_ns, record }]);
        let mut all = roster(vec![(40, fork(3, 3, 2))]);
        hear(&mut all, 20, fork(2, 2, 1));
        assert_eq!(all.threads().collect::<Vec<_>>(), [(1, 1, 10), (2, 2, 20), (3, 3, 40)]);
        let mut strangers = roster(vec![(40, fork(3, 3, 2))]);
        hear(&mut strangers, 50, fork(1, 4, 1));
        hear(&mut strangers, 20, fork(2, 2, 1));
        assert_eq!(strangers.parent(3), None);
    }

    #[test]
    fn numbers_are_given_again() {
        // 2 starts 5 and ends; 5 starts another 2.
        let mut roster = roster(vec![(20, fork(2, 2, 1)), (30, fork(5, 5, 2)), (40, fork(2, 2, 5))]);
        assert_eq!((roster.parent(2), roster.parent(5)), (Some(5), None));
        assert_eq!(roster.take_ended(), [Ended { pid: 2, tid: 2, begun_ns: 20, ended_ns: 40 }]);
        assert_eq!(roster.threads().count(), 3);
    }

    #[test]
    fn what_a_thread_executes_goes_on_as_the_process() {
        let exec = Record::Name { pid: 1, tid: 1, name: "new".into(), exec: true };
        let mut roster = roster(vec![(20, fork(1, 5, 1)), (30, Record::Exit { pid: 1, tid: 1 }), (31, exec)]);
        assert_eq!(roster.threads().collect::<Vec<_>>(), [(1, 1, 31)]);
        assert_eq!(roster.take_ended().len(), 2);
    }
}
