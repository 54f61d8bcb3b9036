//! The program's processes and threads, as `/proc` shows them from one look to the next, and records of what
//! changed.

use super::sleepers::Follower;
use crate::record::{Record, Stamped};
use crate::root::Root;
use crate::roster::Roster;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};
use timewise_callers::present_mappings;
use timewise_target::cpu_time::{self, ThreadAccount, Turns, monotonic_ns};
use timewise_target::family;
use timewise_target::perf::RawMapping;
use timewise_target::status::{ProgramImage, Status};

/// Where the system does not tell of new threads, or tells wrongly, they are looked for every so many looks.
const ALL_THE_SAME: u32 = 64;
/// Mappings that changed are read again after this part of a program's age, and after [`MAPPINGS_PAUSE`] at the latest:
/// what the loader maps, all callers are in from then on, while old programs mostly map memory.
const MAPPINGS_SHARE: u32 = 8;
/// As often at most in a program that is old.
const MAPPINGS_PAUSE: Duration = Duration::from_millis(100);
/// What a clock tick of the system is; the same on every Linux for x86-64.
const TICK_NS: u64 = 10_000_000;

/// A thread that runs at this moment, or would if a processor were free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Its process.
    pub pid: i32,
    /// Its id.
    pub tid: i32,
    /// Where it was seen last.
    pub processor: u32,
}

/// What happened, for the tables of the profile.
#[derive(Debug, Default)]
pub struct Records(pub Vec<Stamped>);

impl Records {
    /// Adds what happened at this moment.
    pub fn add(&mut self, time_ns: u64, record: Record) {
        self.0.push(Stamped { time_ns, record });
    }
}

/// All processes, by id.
#[derive(Debug)]
pub struct Family {
    processes: BTreeMap<i32, Process>,
    /// Children of the first that were there before the recording, which is not of them.
    others: Vec<i32>,
    latest_id: Option<i32>,
    looks: u32,
    /// When it was looked at last.
    looked_ns: u64,
}

#[derive(Debug)]
struct Process {
    used: Duration,
    image: ProgramImage,
    /// When the program was seen first.
    image_seen: Instant,
    mapped_bytes: u64,
    mappings: Vec<RawMapping>,
    mappings_read: Instant,
    threads: BTreeMap<i32, Thread>,
}

#[derive(Debug)]
struct Thread {
    name: String,
    /// `None` in a kernel that keeps none.
    account: Option<ThreadAccount>,
    /// At the last look.
    turns: Turns,
    /// It ran at the last look.
    ran: bool,
    /// Its CPU time when it was last asked for.
    seen_ns: u64,
    /// What of that is still to be told, by a sample outside of system calls.
    untold_ns: u64,
    /// What part of its time was the kernel's.
    kernel_share: f64,
}

impl Family {
    /// Begins with one process; none if it is gone.
    pub fn of(root: &Root) -> Option<Family> {
        let pid = root.pid as i32;
        let status = Status::of_process(pid)?;
        let thread = |tid: i32| {
            let mut thread = Thread::of(pid, tid, &Status::of_thread(pid, tid)?);
            // What it used before, as to be launched, is not of the recording.
            thread.seen_ns = thread.time_ns(pid, tid)?;
            Some((tid, thread))
        };
        let mut process = Process::new(&status, root.mappings.clone(), thread(pid)?);
        process.threads.extend(root.others.iter().filter_map(|&(tid, _)| thread(tid as i32)));
        let processes = BTreeMap::from([(pid, process)]);
        Some(Family {
            processes,
            others: family::children(pid),
            latest_id: None,
            looks: 0,
            looked_ns: monotonic_ns(),
        })
    }

    /// Records what is new, and tells of each thread that runs as soon as it is seen: it may not do so for long.
    pub fn look(&mut self, records: &mut Records, mut runs: impl FnMut(Runs)) {
        let now_ns = monotonic_ns();
        // Whoever began or ended since the last look did so halfway, as likely before as after.
        let between_ns = now_ns.midpoint(std::mem::replace(&mut self.looked_ns, now_ns));
        let latest_id = family::latest_id();
        self.looks = self.looks.wrapping_add(1);
        if latest_id.is_none() || latest_id != self.latest_id || self.looks.is_multiple_of(ALL_THE_SAME) {
            self.latest_id = latest_id;
            self.find_new(between_ns, records);
        }
        self.processes.retain(|&pid, process| {
            let Some(used) = cpu_time::of_process(pid) else {
                process.ended(pid, between_ns, records);
                return false;
            };
            if std::mem::replace(&mut process.used, used) != used {
                process.look(pid, (between_ns, now_ns), records, &mut runs);
            }
            true
        });
    }

    /// Those that there are now.
    pub fn roster(&self, now_ns: u64) -> Roster {
        let threads = self.processes.values().flat_map(|process| process.threads.keys().copied());
        Roster::of(self.processes.keys().copied().next().unwrap_or_default(), threads, now_ns)
    }

    /// Threads and children that began since the last time.
    fn find_new(&mut self, now_ns: u64, records: &mut Records) {
        let mut unseen: Vec<i32> = self.processes.keys().copied().collect();
        while let Some(pid) = unseen.pop() {
            if let Some(process) = self.processes.get_mut(&pid) {
                process.find_threads(pid, now_ns, records);
            }
            for child in family::children(pid) {
                let is_new = !self.processes.contains_key(&child) && !self.others.contains(&child);
                if is_new && self.add_child(child, pid, now_ns, records) {
                    unseen.push(child);
                }
            }
        }
    }

    fn add_child(&mut self, pid: i32, parent: i32, now_ns: u64, records: &mut Records) -> bool {
        let Some(status) = Status::of_process(pid).filter(|status| !status.ended) else { return false };
        let Some(forked_from) = self.processes.get(&parent) else { return false };
        let thread = Thread::of(pid, pid, &status);
        let (image, mappings) = (forked_from.image, forked_from.mappings.clone());
        records.add(now_ns, fork(pid, pid, parent));
        let mut process = Process::new(&status, mappings, (pid, thread));
        if status.image == image {
            process.rename(pid, pid, &status.name, now_ns, records);
        } else {
            process.executed(pid, &status, now_ns, records);
        }
        self.processes.insert(pid, process);
        true
    }

    /// CPU time that a thread, which stands, used since it was last asked for, or what of that a sample of it stands for; 0
    /// if it is not known.
    pub fn time_since_sample(&mut self, pid: i32, tid: i32, in_system_call: bool) -> u64 {
        let thread = self.processes.get_mut(&pid).and_then(|process| process.threads.get_mut(&tid));
        thread.and_then(|thread| thread.time_since_sample(pid, tid, in_system_call)).unwrap_or(0)
    }

    /// Records what no sample tells, and who has ended by now.
    pub fn finish(&mut self, records: &mut Records) {
        let now_ns = monotonic_ns();
        for (&pid, process) in &self.processes {
            match Status::of_process(pid).is_none_or(|status| status.ended) {
                true => process.ended(pid, now_ns, records),
                false => process.threads.iter().for_each(|(&tid, thread)| {
                    thread.tell_rest(pid, tid, now_ns, records);
                }),
            }
        }
    }
}

impl Follower for Family {
    fn account(&self, pid: i32, tid: i32) -> Option<Turns> {
        self.processes.get(&pid)?.threads.get(&tid)?.account.as_ref()?.read()
    }

    fn place(&mut self, pid: i32, address: u64, now_ns: u64, records: &mut Records) {
        if let Some(process) = self.processes.get_mut(&pid)
            && !process.mappings.iter().any(|m| (m.address..m.address + m.length).contains(&address))
        {
            process.read_mappings(pid, now_ns, records);
        }
    }
}

impl Process {
    fn new(status: &Status, mappings: Vec<RawMapping>, first: (i32, Thread)) -> Process {
        Process {
            used: Duration::ZERO,
            image: status.image,
            image_seen: Instant::now(),
            mapped_bytes: status.mapped_bytes,
            mappings,
            mappings_read: Instant::now(),
            threads: BTreeMap::from([first]),
        }
    }

    /// It has ended, with all its threads.
    fn ended(&self, pid: i32, now_ns: u64, records: &mut Records) {
        for (&tid, thread) in &self.threads {
            thread.tell_rest(pid, tid, now_ns, records);
            records.add(now_ns, exit(pid, tid));
        }
    }

    /// Finds out which of its threads run; who ended since the last look did so at the first of the moments.
    fn look(
        &mut self,
        pid: i32,
        (between_ns, now_ns): (u64, u64),
        records: &mut Records,
        runs: &mut impl FnMut(Runs),
    ) {
        let tids: Vec<i32> = self.threads.keys().copied().collect();
        for tid in tids {
            let Some(thread) = self.threads.get_mut(&tid) else { continue };
            let turns = thread.account.as_ref().map(ThreadAccount::read);
            // Who did not run at the last look and got no processor since, does not run.
            let idle = turns.is_some_and(|turns| turns == Some(thread.turns)) && !thread.ran;
            thread.turns = turns.flatten().unwrap_or_default();
            if idle {
                continue;
            }
            let Some(status) = Status::of_thread(pid, tid).filter(|status| !status.ended) else {
                thread.tell_rest(pid, tid, now_ns, records);
                self.threads.remove(&tid);
                records.add(between_ns, exit(pid, tid));
                continue;
            };
            thread.kernel_share = status.kernel_share();
            thread.ran = status.running;
            if status.running {
                runs(Runs { pid, tid, processor: status.processor });
            }
            if status.image != self.image {
                self.executed(pid, &status, now_ns, records);
            } else {
                self.rename(pid, tid, &status.name, now_ns, records);
            }
            let changed = status.mapped_bytes != self.mapped_bytes;
            if changed && self.mappings_read.elapsed() >= self.mappings_pause() {
                self.mapped_bytes = status.mapped_bytes;
                self.read_mappings(pid, now_ns, records);
            }
        }
    }

    fn find_threads(&mut self, pid: i32, now_ns: u64, records: &mut Records) {
        for tid in family::threads(pid) {
            if let Entry::Vacant(place) = self.threads.entry(tid)
                && let Some(status) =
                    Status::of_thread(pid, tid).filter(|status| !status.of_the_kernel && !status.ended)
            {
                place.insert(Thread::of(pid, tid, &status));
                records.add(now_ns, fork(pid, tid, pid));
                records.add(now_ns, name(pid, tid, &status.name, false));
            }
        }
    }

    fn rename(&mut self, pid: i32, tid: i32, new: &str, now_ns: u64, records: &mut Records) {
        if let Some(thread) = self.threads.get_mut(&tid)
            && thread.name != new
        {
            thread.name = new.to_string();
            records.add(now_ns, name(pid, tid, new, false));
        }
    }

    /// It became another program, whose only thread has the id of the process.
    fn executed(&mut self, pid: i32, status: &Status, now_ns: u64, records: &mut Records) {
        self.image = status.image;
        self.image_seen = Instant::now();
        self.mapped_bytes = status.mapped_bytes;
        self.mappings.clear();
        if let Some(thread) = self.threads.get_mut(&pid) {
            thread.name.clone_from(&status.name);
        }
        records.add(now_ns, name(pid, pid, &status.name, true));
        self.read_mappings(pid, now_ns, records);
    }

    /// From one reading of its mappings to the next.
    fn mappings_pause(&self) -> Duration {
        (self.image_seen.elapsed() / MAPPINGS_SHARE).min(MAPPINGS_PAUSE)
    }

    /// Tells of what is mapped now and was not before.
    fn read_mappings(&mut self, pid: i32, now_ns: u64, records: &mut Records) {
        self.mappings_read = Instant::now();
        let Ok(mut present) = present_mappings(pid as u32) else { return };
        if self.mappings.is_empty() {
            // The first that is told of names the program.
            let executable = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
            present.sort_by_key(|mapping| mapping.path != executable.as_os_str().as_bytes());
        }
        for mapping in &present {
            if !self.mappings.contains(mapping) {
                records.add(now_ns, Record::Mapping(mapping.clone()));
            }
        }
        self.mappings = present;
    }
}

impl Thread {
    fn of(pid: i32, tid: i32, status: &Status) -> Thread {
        Thread {
            name: status.name.clone(),
            account: ThreadAccount::open(pid, tid).ok(),
            turns: Turns::default(),
            ran: true,
            seen_ns: 0,
            untold_ns: 0,
            kernel_share: status.kernel_share(),
        }
    }

    fn time_since_sample(&mut self, pid: i32, tid: i32, in_system_call: bool) -> Option<u64> {
        let now_ns = self.time_ns(pid, tid)?;
        let used_ns = now_ns.saturating_sub(std::mem::replace(&mut self.seen_ns, now_ns));
        if !in_system_call {
            return Some(used_ns + std::mem::take(&mut self.untold_ns));
        }
        if !self.had_to_wait() {
            return Some(used_ns);
        }
        // Where it was woken, or gave way to others, says nothing of where it used its time.
        let kernels_ns = (used_ns as f64 * Status::of_thread(pid, tid)?.kernel_share()) as u64;
        self.untold_ns += used_ns - kernels_ns;
        Some(kernels_ns)
    }

    /// Records what it used outside of the kernel and no sample tells, as far as its account was read.
    fn tell_rest(&self, pid: i32, tid: i32, now_ns: u64, records: &mut Records) {
        let used_ns = self.turns.ran_ns.saturating_sub(self.seen_ns);
        let time_ns = self.untold_ns + (used_ns as f64 * (1.0 - self.kernel_share)) as u64;
        if time_ns > 0 {
            records.add(now_ns, Record::Untold { pid: pid as u32, tid: tid as u32, time_ns });
        }
    }

    /// Whether it was not on its processor all the time since it was looked at last.
    fn had_to_wait(&self) -> bool {
        self.account.as_ref().and_then(ThreadAccount::read).is_some_and(|now| now.times != self.turns.times)
    }

    fn time_ns(&self, pid: i32, tid: i32) -> Option<u64> {
        match &self.account {
            Some(account) => account.read().map(|turns| turns.ran_ns),
            None => Status::of_thread(pid, tid).map(|status| status.cpu_ticks * TICK_NS),
        }
    }
}

fn fork(pid: i32, tid: i32, parent: i32) -> Record {
    Record::Fork { pid: pid as u32, tid: tid as u32, parent_pid: parent as u32 }
}

fn exit(pid: i32, tid: i32) -> Record {
    Record::Exit { pid: pid as u32, tid: tid as u32 }
}

fn name(pid: i32, tid: i32, name: &str, exec: bool) -> Record {
    Record::Name { pid: pid as u32, tid: tid as u32, name: name.to_string(), exec }
}
