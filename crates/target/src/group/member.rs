//! A thread of a group: what it stops for, and letting it go.

use crate::restart;
use crate::seize::{ended, request};
use crate::trace::Tracee;

#[derive(Debug)]
pub struct Member {
    pub tid: i32,
    pub stands: bool,
    /// The signals that the program had blocked, while a signal goes back that came to it.
    pub blocked: Option<u64>,
    /// Its registers were not ours to set right: it goes on with those that it has.
    pub changed: bool,
    /// It was stopped in a call that any signal ends.
    pub interrupted: bool,
}

impl Member {
    /// It stopped. Unless that is where it was asked to stand, it goes on to there; a signal that it stopped for goes
    /// back to those that wait for it, if it can.
    pub fn came_to(&mut self, status: i32) {
        if self.stands_by(status) {
            return;
        }
        if is_asked_for(status) {
            // Asked again it would stop before that signal, which it stops for now.
            return go_on(self.tid, 0);
        }
        let tracee = Tracee::new(self.tid);
        let (signal, event) = (status & 0xff, status >> 8);
        if event == 0
            && can_wait(tracee, signal)
            && let Ok(blocked) = tracee.signal_mask()
            && tracee.set_signal_mask(blocked | 1 << (signal - 1)).is_ok()
        {
            // The kernel puts a signal back that is blocked by the time that it is to be delivered.
            self.blocked.get_or_insert(blocked);
        }
        // In this order: whatever a thread stopped for takes the place of what was asked before.
        let _ = request(libc::PTRACE_INTERRUPT, self.tid, 0);
        go_on_with_signal(self.tid, status);
    }

    /// Whether it stopped where it was asked to: then the program has those signals blocked again that it had. A call that
    /// the kernel did not take comes to the program first: its signal is told before the trap behind whatever is done in the
    /// thread's name, though it is blocked then, and unlike a fault does not come again.
    pub fn stands_by(&mut self, status: i32) -> bool {
        self.stands = is_asked_for(status) && !Tracee::new(self.tid).has_refused_call().unwrap_or(false);
        if self.stands
            && let Some(blocked) = self.blocked.take()
        {
            // If it was killed, that is seen when it goes on.
            let _ = Tracee::new(self.tid).set_signal_mask(blocked);
        }
        self.stands
    }

    /// Has a call that it was stopped in made again when it goes on.
    pub fn go_on_unharmed(&self) {
        let tracee = Tracee::new(self.tid);
        if !self.changed
            && let Ok(registers) = tracee.registers()
        {
            restart::undo_interruption(tracee, &registers);
        }
    }

    /// Lets it go. False if it does not stand, so that it cannot be let go yet.
    pub fn let_go(&mut self, pid: i32, own_child: bool) -> bool {
        if !self.stands {
            let _ = request(libc::PTRACE_INTERRUPT, self.tid, 0);
            return ended(self.tid, pid, own_child).unwrap_or(true);
        }
        self.go_on_unharmed();
        if Tracee::new(self.tid).release().is_ok() {
            return true;
        }
        // It was killed where it stood; its process does not end before we have taken note of that.
        self.stands = false;
        false
    }
}

/// Whether a thread stopped because it was asked to, or its process was.
pub fn is_asked_for(status: i32) -> bool {
    status >> 8 == libc::PTRACE_EVENT_STOP
}

/// Whether a signal that a thread stopped for can as well come later: not one that says what an instruction did, one
/// that cannot be blocked, one that a system call ended for, one of those that queue, which would come behind others, or
/// one of those that stop and continue a process, which take back what came after them when they go back.
fn can_wait(tracee: Tracee, signal: i32) -> bool {
    const NOT_LATER: [i32; 12] = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGTRAP,
        libc::SIGSYS,
        libc::SIGKILL,
        libc::SIGSTOP,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
        libc::SIGCONT,
    ];
    const FIRST_QUEUED: i32 = 32;
    !NOT_LATER.contains(&signal)
        && signal < FIRST_QUEUED
        && tracee.registers().is_ok_and(|registers| !restart::ended_for_signal(&registers))
}

/// Lets a thread go on from another stop, with its signal if it stopped for one.
pub fn go_on_with_signal(tid: i32, status: i32) {
    let (signal, event) = (status & 0xff, status >> 8);
    go_on(tid, if event == 0 { signal as u64 } else { 0 });
}

/// Lets a thread go on from where it stands, with a signal, or 0 for none.
pub fn go_on(tid: i32, signal: u64) {
    let tracee = Tracee::new(tid);
    // If it was killed, that is seen when it is looked at.
    if let Ok(registers) = tracee.registers() {
        restart::undo_interruption(tracee, &registers);
    }
    let _ = request(libc::PTRACE_CONT, tid, signal);
}
