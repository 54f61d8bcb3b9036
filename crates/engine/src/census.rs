//! Which of the system's processes are those under count. One that was made in another PID namespace knows itself by a
//! number that is somebody else's here, if anybody's: such a one is found by going through all.

use crate::arena::Arena;
use crate::harvest::offsets;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::atomic::Ordering;
use timewise_abi::process::{ProcessRecord, state};
use timewise_abi::thread;
use timewise_target::family;
use timewise_target::status::Status;

/// All processes that there were at a moment.
#[derive(Debug)]
pub struct Census<'a> {
    arena: &'a Arena,
    /// By the number by which each knows itself.
    by_number: HashMap<i32, Vec<i32>>,
    /// When we began ourselves.
    began: u64,
}

/// Which processes a record may be of, by the numbers that they have here.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Those that have the shared file mapped. There can be several: in each namespace numbers begin with 1.
    pub counted: Vec<i32>,
    /// Those of which we may not know.
    pub hidden: Vec<i32>,
}

impl Census<'_> {
    /// The processes that there are now.
    pub fn take(arena: &Arena) -> Census<'_> {
        let mut by_number: HashMap<i32, Vec<i32>> = HashMap::new();
        for (pid, number) in family::own_numbers() {
            by_number.entry(number).or_default().push(pid);
        }
        let own = Status::of_process(std::process::id() as i32);
        Census { arena, by_number, began: own.map_or(0, |own| own.started) }
    }

    /// Which processes this is the record of, if any still executes translated code.
    pub fn find(&self, record: &ProcessRecord) -> Found {
        let mut found = Found::default();
        if !is_running(record) {
            return found;
        }
        let number = number_of(record);
        for &pid in self.by_number.get(&number).into_iter().flatten() {
            match self.arena.is_mapped_in(pid) {
                Ok(true) => found.counted.push(pid),
                Err(error) if error.kind() == ErrorKind::PermissionDenied => found.hidden.push(pid),
                _ => {}
            }
        }
        found.hidden.retain(|&pid| self.may_be(pid, number) && !has_executed(self.arena, record));
        found
    }

    /// Whether a process that is hidden may be the one that knows itself by this number: in another namespace there can
    /// only be such as were made since we began.
    fn may_be(&self, pid: i32, number: i32) -> bool {
        let is_old_enough = |status: &Status| pid == number || status.started >= self.began;
        Status::of_process(pid).is_some_and(|status| !status.is_at_its_end() && is_old_enough(&status))
    }
}

/// Whether it is the record of a process that executes translated code, was killed, or became a program that is not
/// counted.
pub fn is_running(record: &ProcessRecord) -> bool {
    record.state.load(Ordering::Acquire) == state::RUNNING
}

/// The number by which a process knows itself; 0 until it takes its first step.
pub fn number_of(record: &ProcessRecord) -> i32 {
    record.pid.load(Ordering::Acquire) as i32
}

/// Whether a process executes another program by now, or is about to, of which nobody was told: a setuid program, which
/// hides what it has mapped.
fn has_executed(arena: &Arena, record: &ProcessRecord) -> bool {
    const CALLS: [u64; 2] = [libc::SYS_execve as u64, libc::SYS_execveat as u64];
    offsets(arena, record).0.into_iter().filter_map(|offset| arena.thread(offset)).any(|area| {
        // SAFETY: within the file; the state is atomic, and what else is read may be of any value.
        let (state, sharing, call) = unsafe {
            let call = (&raw const (*area).registers.rax).read_volatile();
            ((*area).state.load(Ordering::Acquire), (&raw const (*area).sharing).read_volatile(), call)
        };
        state == thread::state::IN_SYSTEM_CALL && sharing == 0 && CALLS.contains(&call)
    })
}
