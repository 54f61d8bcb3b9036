//! Threads that block `SIGTRAP` for long, as workers of libraries do that leave all signals to others: the tracer's
//! own is let through to them, because none of theirs comes in its place.

use crate::signal_sets::{Set, has_trap};
use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};
use timewise_abi::RESERVED_HIGH;
use timewise_target::family;
use timewise_target::halt::{Found, Halt};
use timewise_target::trace::Tracee;

/// Threads that are looked at each time: a look costs some microseconds.
const AT_ONCE: usize = 64;

/// How long a thread is waited for, until it stands.
const PATIENCE: Duration = Duration::from_millis(20);

/// The threads of a process that blocked the signal when they were looked at last.
#[derive(Debug)]
pub struct Unmask {
    pid: i32,
    own_child: i32,
    blocking: BTreeSet<i32>,
    next: usize,
    refusal: Option<io::Error>,
}

impl Unmask {
    /// For process `pid`; `own_child` says whether it is one of ours.
    pub fn new(pid: i32, own_child: bool) -> Unmask {
        let own_child = if own_child { pid } else { 0 };
        Unmask { pid, own_child, blocking: BTreeSet::new(), next: 0, refusal: None }
    }

    /// Looks at the next of its threads. One that blocked the signal last time as well is let have it.
    pub fn look(&mut self) {
        let threads = family::threads(self.pid);
        let count = threads.len().min(AT_ONCE);
        for &tid in threads.iter().cycle().skip(self.next % threads.len().max(1)).take(count) {
            if !has_trap(self.pid, tid, Set::Blocked) {
                self.blocking.remove(&tid);
            } else if !self.blocking.insert(tid) {
                match self.unblock(tid) {
                    Ok(()) => {}
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(error) => self.refusal = Some(error),
                }
                self.blocking.remove(&tid);
            }
        }
        self.next = self.next.wrapping_add(count);
    }

    fn unblock(&self, tid: i32) -> io::Result<()> {
        let mut halt = Halt::ask(self.pid, tid, self.own_child)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match halt.poll() {
                Found::Stopped(held) => {
                    // In the tracer's handler it is blocked for a reason.
                    let own = |address: u64| RESERVED_HIGH.contains(&address);
                    let unblocked = match own(held.registers().rip) || own(held.registers().rsp) {
                        true => Ok(()),
                        false => Tracee::new(tid).unblock(libc::SIGTRAP),
                    };
                    let mut left = held.release();
                    // It was killed where it stood: its end is to be taken note of.
                    while let Some(halt) = left {
                        left = if let Found::Pending(halt) = halt.poll() { Some(halt) } else { None };
                    }
                    return unblocked;
                }
                Found::Pending(pending) => halt = pending,
                Found::Gone => return Ok(()),
            }
            // It stays ours until it stops; a thread that waits in the kernel does that late.
            let pause = if Instant::now() < deadline { Duration::from_micros(20) } else { PATIENCE };
            std::thread::sleep(pause);
        }
    }

    /// What a reader must know.
    pub fn doubt(&self) -> Option<String> {
        let why = self.refusal.as_ref()?;
        Some(format!("threads that block SIGTRAP gave no traces: the system refused to unblock it: {why}"))
    }
}
