//! The processes and threads that are recorded, while they live and as rows of the profile.

use crate::account::{Account, Accounts};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use timewise_profile::{Exit, Process, ProcessId, RunId, Thread, ThreadId};
use timewise_target::status::Status;

/// A thread that lives.
#[derive(Debug)]
pub struct Member {
    /// Its process's number.
    pub pid: i32,
    /// Its row; `None` if there was no room for it.
    pub thread: Option<ThreadId>,
    process: Option<ProcessId>,
    /// The call that it is in.
    pub open: Option<Open>,
    /// Its end was recorded.
    pub has_ended: bool,
    /// Of the call that it is in, if that has a timeout: when that is over, and what the call gives then.
    pub timeout: Option<Due>,
    /// The call that it is in is made again: how long it waits counts from when it was made first.
    pub is_made_again: bool,
    account: Account,
    cpu_ns: u64,
}

/// When a call does not wait any longer.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    /// Since the recording began.
    pub at_ns: u64,
    /// What it gives then.
    pub result: i64,
}

/// A call that a thread is in.
#[derive(Clone, Debug)]
pub struct Open {
    /// The event; `None` if there was no room for it.
    pub event: Option<usize>,
    /// The socket that it gives an address.
    pub naming: Option<Naming>,
    /// Whether it may change which code the process has mapped.
    pub maps_code: bool,
}

/// A socket that a call gives an address.
#[derive(Clone, Debug)]
pub struct Naming {
    /// Its descriptor.
    pub socket: i32,
    /// The name that it has from now on, if it is that of whom it speaks to.
    pub peer: Option<Vec<u8>>,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Members {
    living: HashMap<i32, Member>,
    /// Threads that stopped before we heard that they were made, and the rows of the processes that began so. They may
    /// have ended by then.
    early: HashMap<i32, Option<ProcessId>>,
    /// Processes that have had several threads since their last program began.
    threaded: HashSet<i32>,
    accounts: Accounts,
    /// Rows of the profile.
    pub processes: Vec<Process>,
    /// Likewise.
    pub threads: Vec<Thread>,
}

impl Members {
    /// The program's first thread.
    pub fn root(pid: i32) -> Members {
        let mut members = Members::default();
        members.add(pid, pid, None, true);
        members
    }

    /// Another thread of the process that was there before.
    pub fn joined(&mut self, pid: i32, tid: i32, has_room: bool) {
        let process = self.living.get(&pid).and_then(|member| member.process);
        self.add(pid, tid, process, has_room);
    }

    /// A thread of that number.
    pub fn get(&mut self, tid: i32) -> Option<&mut Member> {
        self.living.get_mut(&tid)
    }

    /// Those that live.
    pub fn living(&self) -> impl Iterator<Item = &Member> {
        self.living.values()
    }

    /// Whether more than one lives.
    pub fn are_several(&self) -> bool {
        self.living.len() > 1
    }

    /// A thread made another. Whether that was not known yet; `has_room` says whether it gets a row.
    pub fn forked(&mut self, by: i32, child: i32, has_room: bool) -> bool {
        let maker = self.living.get(&by).map(|member| (member.pid, member.process));
        if let Some(began) = self.early.remove(&child) {
            if let (Some(row), Some((_, parent))) = (began, maker) {
                self.processes[row.index()].parent = parent;
            }
            return false;
        }
        let Some((maker, parent)) = maker.filter(|_| !self.living.contains_key(&child)) else { return false };
        let is_thread = fs::exists(format!("/proc/{maker}/task/{child}")).unwrap_or(false);
        self.add(if is_thread { maker } else { child }, child, parent, has_room);
        true
    }

    /// A thread stopped. Whether nobody told that it was made.
    pub fn stopped(&mut self, tid: i32, has_room: bool) -> bool {
        if self.living.contains_key(&tid) {
            return false;
        }
        let process = Status::process_of(tid).unwrap_or(tid);
        let maker = Status::of_process(process).map_or(0, |status| status.parent);
        let maker = if process == tid { maker } else { process };
        // Of a process that is a guess until we hear who made it, which may have had its own parent be the child's.
        let parent =
            self.living.values().find(|member| member.pid == maker).and_then(|member| member.process);
        self.add(process, tid, parent, has_room);
        let began = self.living.get(&tid).filter(|_| process == tid).and_then(|member| member.process);
        self.early.insert(tid, began);
        true
    }

    fn add(&mut self, pid: i32, tid: i32, by: Option<ProcessId>, has_room: bool) {
        // Whoever bore the number before is gone.
        self.early.remove(&tid);
        let is_thread = pid != tid;
        if is_thread {
            self.threaded.insert(pid);
        } else {
            self.threaded.remove(&pid);
        }
        let process = match is_thread {
            true => by,
            false => has_room.then(|| self.new_process(pid, by)),
        };
        let thread = process.filter(|_| has_room).map(|process| {
            self.threads.push(Thread { process, tid: tid as u32, name: comm(tid), instructions: None });
            ThreadId(self.threads.len() as u32 - 1)
        });
        let account = Account::default();
        let member = Member {
            pid,
            thread,
            process,
            open: None,
            has_ended: false,
            timeout: None,
            is_made_again: false,
            account,
            cpu_ns: 0,
        };
        self.living.insert(tid, member);
    }

    fn new_process(&mut self, pid: i32, parent: Option<ProcessId>) -> ProcessId {
        self.processes.push(Process {
            run: RunId(0),
            pid: pid as u32,
            parent,
            executable: executable(pid).unwrap_or_default(),
            exit: Exit::Unknown,
            count_uncertainty: 0,
        });
        ProcessId(self.processes.len() as u32 - 1)
    }

    /// A process executes another program, in the thread that was `former`, which bears its number now. Gives the path of
    /// the program, and the thread that was the first one before if that was another.
    pub fn executed(&mut self, pid: i32, former: i32) -> (Option<Vec<u8>>, Option<Member>) {
        self.threaded.remove(&pid);
        let mut first = None;
        if former != pid
            && let Some(member) = self.living.remove(&former)
        {
            first = self.living.insert(pid, member);
            // The clock of the process tells what all its threads used.
            self.threaded.insert(pid);
        }
        let path = executable(pid);
        if let Some(member) = self.living.get_mut(&pid) {
            if let (Some(process), Some(path)) = (member.process, &path) {
                self.processes[process.index()].executable.clone_from(path);
            }
            if let Some(thread) = member.thread {
                let row = &mut self.threads[thread.index()];
                (row.tid, row.name) = (pid as u32, comm(pid));
            }
            if former != pid {
                self.accounts.close(&member.account);
                member.account = Account::default();
            }
        }
        (path, first.inspect(|first| self.accounts.close(&first.account)))
    }

    /// A thread is about to end: what it is called now is its name.
    pub fn ending(&mut self, tid: i32) {
        if let Some(thread) = self.living.get(&tid).and_then(|member| member.thread) {
            self.threads[thread.index()].name = comm(tid);
        }
    }

    /// A thread has ended, its process if `exit` says how.
    pub fn ended(&mut self, tid: i32, exit: Exit) -> Option<Member> {
        let member = self.living.remove(&tid)?;
        self.accounts.close(&member.account);
        if let Some(process) = member.process.filter(|_| tid == member.pid) {
            self.processes[process.index()].exit = exit;
        }
        Some(member)
    }

    /// CPU time that a thread which stands has used, in nanoseconds; what was last known if it is gone.
    pub fn cpu_ns(&mut self, tid: i32) -> u64 {
        let Some(member) = self.living.get_mut(&tid) else { return 0 };
        let alone = !self.threaded.contains(&member.pid);
        if let Some(cpu_ns) = self.accounts.read(&mut member.account, (member.pid, tid), alone) {
            member.cpu_ns = cpu_ns.max(member.cpu_ns);
        }
        member.cpu_ns
    }
}

impl Member {
    /// CPU time that it had used when it was last asked.
    pub fn known_cpu_ns(&self) -> u64 {
        self.cpu_ns
    }
}

/// The path of the program that a thread executes.
fn executable(tid: i32) -> Option<Vec<u8>> {
    Some(fs::read_link(format!("/proc/{tid}/exe")).ok()?.into_os_string().into_vec())
}

/// What a thread is called.
fn comm(tid: i32) -> String {
    let name = fs::read(format!("/proc/{tid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end_matches('\n').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// Waits until its input is closed.
    fn waiting() -> Child {
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn whoever_made_a_process_is_its_parent() {
        let (mut maker, mut child) = (waiting(), waiting());
        let (by, made) = (maker.id() as i32, child.id() as i32);
        let mut members = Members::root(by);
        assert!(members.stopped(made, true), "not known yet");
        assert!(!members.forked(by, made, true), "known already");
        assert_eq!(members.processes[1].parent, Some(ProcessId(0)));
        for one in [&mut maker, &mut child] {
            drop(one.stdin.take());
            one.wait().unwrap();
        }
    }
}
