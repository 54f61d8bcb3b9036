//! Tracing a thread that already runs, from just before it calls `execve` until the new program stands
//! at its first instruction.

use crate::restart;
use crate::status::field;
use crate::trace::Tracee;
use std::io;
use std::mem::MaybeUninit;

/// A thread that is traced while it runs. It belongs to the thread of ours that seized it.
#[derive(Debug)]
pub struct Seized {
    tid: libc::pid_t,
    pid: libc::pid_t,
    own_child: bool,
    letting_go: bool,
}

/// What became of the thread.
#[derive(Debug)]
pub enum Outcome {
    /// It called `execve`: its process stands at the first instruction of the new program.
    Executed {
        /// The process, which has this one thread now.
        process: Tracee,
        /// Its number.
        pid: i32,
    },
    /// It is no longer traced, as was asked for.
    LetGo,
    /// It ended.
    Ended,
}

impl Seized {
    /// Traces thread `tid`, which goes on running. `own_child` is a child of ours, whose end is not for
    /// us to take note of here.
    ///
    /// # Errors
    /// The system's: `EPERM` if it is traced already, or not to be traced.
    pub fn new(tid: i32, own_child: i32) -> io::Result<Seized> {
        let pid = process_of(tid)?;
        // Were stops at system calls not marked, the kernel would make a signal of one if we were killed.
        let options = libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_TRACESYSGOOD;
        request(libc::PTRACE_SEIZE, tid, options as u64)?;
        Ok(Seized { tid, pid, own_child: pid == own_child, letting_go: false })
    }

    /// Its number.
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// Asks to trace it no longer; a later [`Seized::poll`] says when that is done.
    pub fn let_go(&mut self) {
        if std::mem::replace(&mut self.letting_go, true) {
            return;
        }
        // A failure means that it is gone, as `poll` will find.
        let _ = request(libc::PTRACE_INTERRUPT, self.tid, 0);
    }

    /// Looks, without waiting, at what the thread came to. Stops on the way are passed on as they are; a call that one of
    /// them ended goes on as if nothing had been (`restart.rs`).
    ///
    /// # Errors
    /// The system's.
    pub fn poll(&mut self) -> io::Result<Option<Outcome>> {
        // After an `execve` the thread bears the number of its process.
        for id in [self.tid, self.pid] {
            while let Some(status) = stop_of(id)? {
                if let Some(outcome) = self.stopped(id, status)? {
                    return Ok(Some(outcome));
                }
            }
        }
        Ok(self.ended()?.then_some(Outcome::Ended))
    }

    fn stopped(&self, id: libc::pid_t, status: i32) -> io::Result<Option<Outcome>> {
        let (signal, event) = (status & 0xff, status >> 8);
        if event == libc::PTRACE_EVENT_EXEC {
            // The call itself still has to end, or its result would overwrite ours.
            unless_killed(request(libc::PTRACE_SYSCALL, self.pid, 0))?;
            while stop_of(self.pid)?.is_none() {
                if self.ended()? {
                    return Ok(Some(Outcome::Ended));
                }
                std::thread::yield_now();
            }
            return Ok(Some(Outcome::Executed { process: Tracee::new(self.pid), pid: self.pid }));
        }
        let passed_on = if event == 0 { signal as u64 } else { 0 };
        let tracee = Tracee::new(id);
        if let Ok(registers) = tracee.registers() {
            restart::undo_interruption(tracee, &registers);
        }
        if self.letting_go {
            let detached = unless_killed(request(libc::PTRACE_DETACH, id, passed_on))?;
            return Ok(detached.then_some(Outcome::LetGo));
        }
        unless_killed(match event {
            libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => request(libc::PTRACE_LISTEN, id, 0),
            _ => request(libc::PTRACE_CONT, id, passed_on),
        })?;
        Ok(None)
    }

    fn ended(&self) -> io::Result<bool> {
        ended(self.tid, self.pid, self.own_child)
    }
}

/// Whether a traced thread of process `pid` has ended. The end of a child of ours is left to be waited for.
pub(crate) fn ended(tid: libc::pid_t, pid: libc::pid_t, own_child: bool) -> io::Result<bool> {
    let look = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    for id in [tid, pid] {
        match wait(id, look) {
            Ok(None) => return Ok(false),
            // A traced thread's stops are told of whether asked for or not.
            Ok(Some(change)) if !change.is_end => return Ok(false),
            Ok(Some(_)) if own_child && id == pid => return Ok(true),
            Ok(Some(_)) => {
                // The parent learns of the end only once its tracer has.
                wait(id, libc::WEXITED | libc::WNOHANG)?;
                return Ok(true);
            }
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// The process that a thread belongs to.
pub(crate) fn process_of(tid: i32) -> io::Result<i32> {
    // The name in it may be of any bytes.
    let status = std::fs::read(format!("/proc/{tid}/status"))?;
    let status = String::from_utf8_lossy(&status);
    field(&status, "Tgid").parse().map_err(|_| io::Error::other("no process number in its status"))
}

/// The signal and event that a traced thread stopped with, if it did since last asked.
pub(crate) fn stop_of(id: libc::pid_t) -> io::Result<Option<i32>> {
    match wait(id, libc::WSTOPPED | libc::WNOHANG) {
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(None),
        other => Ok(other?.map(|change| change.status)),
    }
}

/// What a thread came to.
struct Change {
    /// It ended; otherwise it stopped.
    is_end: bool,
    /// The signal and event that it stopped with, or how it ended.
    status: i32,
}

fn wait(id: libc::pid_t, options: i32) -> io::Result<Option<Change>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the kernel fills the structure, which is zero before.
    let info = unsafe {
        if libc::waitid(libc::P_PID, id as libc::id_t, info.as_mut_ptr(), options | libc::__WALL) < 0 {
            return Err(io::Error::last_os_error());
        }
        info.assume_init()
    };
    let is_end = matches!(info.si_code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED);
    // SAFETY: the fields of a child's signal, or zero where there was none.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    Ok((pid != 0).then_some(Change { is_end, status }))
}

/// Whether a request reached its thread. One that was killed where it stood is still ours: its parent learns of
/// its end only once we have taken note of it.
fn unless_killed(done: io::Result<()>) -> io::Result<bool> {
    match done {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(false),
        done => done.map(|()| true),
    }
}

pub(crate) fn request(request: libc::c_uint, tid: libc::pid_t, data: u64) -> io::Result<()> {
    // SAFETY: none of the requests made here passes memory.
    if unsafe { libc::ptrace(request, tid, 0, data) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
