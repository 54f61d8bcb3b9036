//! Threads that block `SIGTRAP` for long, as workers of libraries do that leave all signals to others: the tracer's
//! own is let through to them, because none of theirs comes in its place.

use crate::rings::Rings;
use crate::signal_sets::{Set, has_trap};
use crate::taken_up::{self, taken_up, used_slots};
use std::collections::BTreeSet;
use std::io;
use std::mem::offset_of;
use std::time::{Duration, Instant};
use timewise_abi::tracing::{LET_THROUGH, TraceSlot};
use timewise_target::family;
use timewise_target::group::Group;
use timewise_target::halt::{Found, Halt};
use timewise_target::status::Status;
use timewise_target::trace::Tracee;

/// Threads that are looked at each time: a look costs some microseconds.
const AT_ONCE: usize = 64;

/// The signal in a mask.
const TRAP: u64 = 1 << (libc::SIGTRAP - 1);

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
    pub fn look(&mut self, rings: &Rings) {
        let threads = family::threads(self.pid);
        self.blocking.retain(|tid| threads.contains(tid));
        let count = threads.len().min(AT_ONCE);
        for &tid in threads.iter().cycle().skip(self.next % threads.len().max(1)).take(count) {
            if !has_trap(self.pid, tid, Set::Blocked) {
                self.blocking.remove(&tid);
            } else if !self.blocking.insert(tid) {
                match self.halt(rings, tid, &threads) {
                    Ok(()) => {}
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(error) => self.refusal = Some(error),
                }
                self.blocking.remove(&tid);
            }
        }
        self.next = self.next.wrapping_add(count);
    }

    fn halt(&self, rings: &Rings, tid: i32, threads: &[i32]) -> io::Result<()> {
        if Status::of_thread(self.pid, tid).is_none_or(|status| status.of_the_kernel) {
            return Ok(());
        }
        let ours = taken_up(self.pid)?;
        let mut halt = Halt::ask(self.pid, tid, self.own_child)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match halt.poll() {
                Found::Stopped(held) => {
                    let own = |address: u64| taken_up::is_in(&ours, address);
                    // In the tracer's handler it is blocked for a reason.
                    let is_inside = own(held.registers().rip) || own(held.registers().rsp);
                    let done = if is_inside { Ok(()) } else { let_through(rings, Tracee::new(tid), threads) };
                    let mut left = held.release();
                    // It was killed where it stood: its end is to be taken note of.
                    while let Some(halt) = left {
                        left = if let Found::Pending(halt) = halt.poll() { Some(halt) } else { None };
                    }
                    return done;
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

/// Lets the signal through to a thread that stands outside of the tracer, if it blocks it. `threads` are those of its
/// process. What somebody sent waits for the program to ask for it.
///
/// # Errors
/// The system's.
pub fn let_through(rings: &Rings, tracee: Tracee, threads: &[i32]) -> io::Result<()> {
    let mask = tracee.signal_mask()?;
    if mask & TRAP == 0 || tracee.was_sent(libc::SIGTRAP)? {
        return Ok(());
    }
    // Noted before, so that the tracer knows it whenever a signal comes.
    if rings.note_let_through(tracee.tid(), mask & !TRAP, threads) {
        tracee.set_signal_mask(mask & !TRAP)?;
    }
    Ok(())
}

/// Has threads block the signal again that got it all the same, if the program has left their masks as they are since: it
/// believes that they block it. All threads stand.
///
/// # Errors
/// The system's.
pub fn block_again(group: &Group) -> io::Result<()> {
    let slots = used_slots(group.pid())?;
    for tracee in group.tracees() {
        let is_its = |&&(owner, _): &&(i32, u64)| owner == tracee.tid();
        let Some(&(_, slot)) = slots.iter().find(is_its) else { continue };
        // Also where the thread itself, which no signal came to yet, could not.
        let let_through = tracee.peek(slot + offset_of!(TraceSlot, let_through) as u64)?;
        let mask = tracee.signal_mask()?;
        if let_through == mask | LET_THROUGH {
            tracee.set_signal_mask(mask | TRAP)?;
        }
    }
    Ok(())
}
