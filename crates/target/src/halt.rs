//! A thread that runs freely, stopped for a moment to look at it.
//!
//! It is traced from when it is asked to stop until it is let go, some ten microseconds, and neither before nor
//! after: its signals, its children, what it executes and whom it traces itself are its own. What it could notice
//! is that a system call ended early; such a call goes on as if nothing had been (`restart.rs`).

use crate::restart;
use crate::seize::{ended, request, stop_of};
use crate::trace::{Registers, Tracee};
use std::io;

/// A thread that was asked to stop. It belongs to the thread of ours that asked.
#[derive(Debug)]
pub struct Halt {
    tid: libc::pid_t,
    pid: libc::pid_t,
    own_child: bool,
    polls: u32,
}

/// One of so many looks makes sure that there is still something to wait for: that disturbs the thread.
const DOUBTFUL: u32 = 64;

/// What became of it.
#[derive(Debug)]
pub enum Found {
    /// It has not stopped yet: it waits for a processor, or in the kernel.
    Pending(Halt),
    /// It stands.
    Stopped(Held),
    /// It ended, or goes on without us.
    Gone,
}

/// A thread that stands until it is let go.
#[derive(Debug)]
pub struct Held {
    tid: libc::pid_t,
    pid: libc::pid_t,
    own_child: bool,
    /// The signal that is to be delivered to it; 0 if none is.
    signal: u64,
    registers: Box<Registers>,
}

impl Halt {
    /// Asks thread `tid` of process `pid` to stop. `own_child` is a child of ours, whose end is not for us to
    /// take note of here.
    ///
    /// # Errors
    /// The system's: `EPERM` if it is traced by another, or not to be traced; `ESRCH` if it is gone.
    pub fn ask(pid: i32, tid: i32, own_child: i32) -> io::Result<Halt> {
        request(libc::PTRACE_SEIZE, tid, 0)?;
        // A failure means that it is gone, as `poll` will find.
        let _ = request(libc::PTRACE_INTERRUPT, tid, 0);
        Ok(Halt { tid, pid, own_child: pid == own_child, polls: 0 })
    }

    /// Its number, as it was when it was asked.
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Looks, without waiting, whether it stands.
    pub fn poll(mut self) -> Found {
        self.polls = self.polls.wrapping_add(1);
        // A thread that has called `execve` bears the number of its process, whose first thread may have been asked
        // to stop as well: that stop is not ours.
        let is_there = std::path::Path::new(&format!("/proc/{}/task/{}", self.pid, self.tid)).exists();
        let ids = if is_there { &[self.tid][..] } else { &[self.tid, self.pid] };
        for &id in ids {
            if let Ok(Some(status)) = stop_of(id) {
                let (signal, event) = (status & 0xff, status >> 8);
                let signal = if event == 0 { signal as u64 } else { 0 };
                return match Tracee::new(id).registers() {
                    Ok(registers) => {
                        let registers = registers.into();
                        Found::Stopped(Held {
                            tid: id,
                            pid: self.pid,
                            own_child: self.own_child,
                            signal,
                            registers,
                        })
                    }
                    // It was killed meanwhile: its end is still to be taken note of.
                    Err(_) => Found::Pending(self),
                };
            }
        }
        match ended(self.tid, self.pid, self.own_child) {
            Ok(false) if !self.polls.is_multiple_of(DOUBTFUL) || ids.iter().any(|&id| is_ours(id)) => {
                Found::Pending(self)
            }
            _ => Found::Gone,
        }
    }
}

impl Held {
    /// Its registers.
    pub fn registers(&self) -> &Registers {
        &self.registers
    }

    /// Whether it stands at the end of a system call, and not where it was interrupted at work.
    pub fn in_system_call(&self) -> bool {
        restart::in_system_call(&self.registers)
    }

    /// Lets it go on, untraced, with its signal if there is one. If it was killed while it stood, it has to be
    /// polled on: its process does not end before its tracer has taken note of that.
    #[must_use = "a thread that was killed must be polled until it is gone"]
    pub fn release(self) -> Option<Halt> {
        restart::undo_interruption(Tracee::new(self.tid), &self.registers);
        let detached = request(libc::PTRACE_DETACH, self.tid, self.signal);
        let Held { tid, pid, own_child, .. } = self;
        detached.is_err().then_some(Halt { tid, pid, own_child, polls: 0 })
    }
}

/// Whether we trace this thread: not if it went on as another, or was never there.
fn is_ours(id: libc::pid_t) -> bool {
    // To ask it once more to stop changes nothing.
    let asked = request(libc::PTRACE_INTERRUPT, id, 0);
    !asked.is_err_and(|error| error.raw_os_error() == Some(libc::ESRCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Launch;
    use crate::status::Status;
    use std::time::Duration;

    /// Stops a program; none if it is gone.
    fn stop(pid: i32) -> Option<Held> {
        let mut halt = Halt::ask(pid, pid, pid).ok()?;
        loop {
            match halt.poll() {
                Found::Stopped(held) => return Some(held),
                Found::Pending(pending) => halt = pending,
                Found::Gone => return None,
            }
        }
    }

    #[test]
    fn a_program_stopped_again_and_again_ends_as_it_would() {
        const ENOUGH: u32 = 50;
        let folder = tempfile::tempdir().unwrap();
        let enough = folder.path().join("enough");
        let mut launch = Launch::new("sh");
        let script =
            "trap 'n=$((n+1))' USR1; until [ -e \"$0\" ]; do i=$((i+1)); done; kill -USR1 $$; exit $((n+6))";
        launch.arguments = vec!["-c".into(), script.into(), enough.clone().into()];
        let running = launch.stopped().unwrap().release().unwrap();
        let pid = running.pid();
        let mut stops = 0;
        while Status::of_process(pid).is_some_and(|status| !status.ended) {
            let Ok(halt) = Halt::ask(pid, pid, pid) else { break };
            let mut found = halt.poll();
            while let Found::Pending(halt) = found {
                found = halt.poll();
            }
            if let Found::Stopped(held) = found {
                assert!(held.registers().rip != 0);
                // If it was killed, the parent that we are takes note of its end.
                let _ = held.release();
                stops += 1;
            }
            if stops == ENOUGH {
                std::fs::write(&enough, "").unwrap();
            }
            std::thread::sleep(Duration::from_micros(300));
        }
        let ended = running.wait().unwrap();
        assert!(libc::WIFEXITED(ended.wait_status), "{ended:?}");
        assert_eq!(libc::WEXITSTATUS(ended.wait_status), 7);
        assert!(stops >= ENOUGH, "{stops}");
    }

    /// A program that stops itself and then waits for some time is stopped by us in both. Whether we came in time.
    fn is_stopped_while_it_waits(time: Duration) -> bool {
        let mut launch = Launch::new("sh");
        let script = format!("kill -STOP $$; exec sleep {}", time.as_secs_f64());
        launch.arguments = vec!["-c".into(), script.into()];
        let running = launch.stopped().unwrap().release().unwrap();
        let pid = running.pid();
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let stands = |letter: &str| state().rsplit_once(") ").unwrap().1.starts_with(letter);
        while !stands("T") {
            std::thread::yield_now();
        }
        assert!(stop(pid).unwrap().release().is_none());
        std::thread::sleep(Duration::from_millis(20));
        assert!(stands("T"), "{}", state());
        // SAFETY: takes no memory; the process is our child.
        unsafe { libc::kill(pid, libc::SIGCONT) };
        let waits = || stands("S") && state().contains("(sleep)");
        while !waits() && !stands("Z") {
            std::thread::yield_now();
        }
        let came_in_time = stop(pid).is_some_and(|held| held.release().is_none());
        let ended = running.wait().unwrap();
        assert_eq!(ended.wait_status, 0);
        assert!(ended.elapsed > time, "{ended:?}");
        came_in_time
    }

    /// On a busy machine a short time may be over before we have a processor.
    #[test]
    fn a_stopped_program_stays_stopped_and_a_waiting_one_waits_on() {
        assert!([0.3, 3.0, 30.0].map(Duration::from_secs_f64).into_iter().any(is_stopped_while_it_waits));
    }
}
