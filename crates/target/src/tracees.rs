//! Threads that are traced for as long as they live, with all that descend from them: what each stops for, and how it
//! goes on.
//!
//! A signal that the program ignores is dropped natively when it is sent. To a thread that is traced it comes, and ends calls
//! that give `EINTR` for any signal: these are made again (`restart.rs`).
//!
//! They belong to the thread of ours that seized the first of them. When that ends, or is killed, all of them run on
//! untraced from where they stand.

use crate::attachable::AttachError;
use crate::group::Group;
use crate::launch::{Ended, Halted};
use crate::restart;
use crate::seize::request;
use crate::trace::{Registers, Tracee};
use std::io;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// All that a thread and those that it begins stop for, beside signals. Stops at calls are marked: were they not, the
/// kernel would make a signal of one if we were killed.
const STOPS: i32 = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEEXIT;

const CALL_STOP: i32 = libc::SIGTRAP | 0x80;

/// How long is waited for the threads of a process that runs to stand.
const PATIENCE: Duration = Duration::from_secs(2);

/// A thread stopped, or ended.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// Which.
    pub tid: i32,
    /// Why.
    pub reason: Reason,
}

/// Why a thread stands.
#[derive(Clone, Copy, Debug)]
pub enum Reason {
    /// It enters or leaves a system call.
    Call,
    /// This signal is about to be delivered to it.
    Signal(i32),
    /// It is new, or was asked to stop.
    Asked,
    /// Its process is stopped, as by `SIGSTOP`.
    Paused,
    /// It made a process or thread of this number.
    Forked(i32),
    /// Its process executes another program, in this thread, which had another number before unless it was the first.
    Executed {
        /// Its number before.
        former: i32,
    },
    /// It is about to end, with this status.
    Ending(i32),
    /// It has ended, and so has its process if it bears the number of that.
    Ended {
        /// Raw status as `waitpid` gives it.
        wait_status: i32,
        /// What its process used.
        usage: Usage,
    },
}

/// What a process used, with the children that it waited for.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    user: Duration,
    kernel: Duration,
    max_resident_bytes: u64,
}

/// When a program was let go, and how it ended.
#[derive(Clone, Copy, Debug)]
pub struct Started {
    at: Instant,
    unix_ns: i64,
}

impl Started {
    /// Now.
    pub fn now() -> Started {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Started { at: Instant::now(), unix_ns: since.map_or(0, |since| since.as_nanos() as i64) }
    }

    /// How it ended just now.
    pub fn ended(self, wait_status: i32, usage: Usage) -> Ended {
        Ended {
            wait_status,
            started_unix_ns: self.unix_ns,
            elapsed: self.at.elapsed(),
            user: usage.user,
            kernel: usage.kernel,
            max_resident_bytes: usage.max_resident_bytes,
        }
    }
}

/// Traces a child of ours that runs, by the calling thread, from where it is stopped then.
///
/// # Errors
/// The system's.
pub fn seize(pid: i32) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, pid, STOPS as u64)?;
    request(libc::PTRACE_INTERRUPT, pid, 0)
}

/// Traces all threads of a process that runs, by the calling thread, from where they stand: to be let go by [`go_on`]. The
/// first one comes first.
///
/// # Errors
/// Those of [`Group::stop`].
pub fn seize_running(pid: i32) -> Result<Vec<i32>, AttachError> {
    Ok(Group::stop(pid, PATIENCE)?.into_tracees(STOPS))
}

/// Traces a program that was launched, by the calling thread, and takes back what halted it. It stands before its first
/// instruction, to be let go by [`go_on`].
///
/// # Errors
/// The system's, and if it was killed.
pub fn seize_launched(program: Halted) -> io::Result<i32> {
    let pid = program.pid();
    request(libc::PTRACE_SEIZE, pid, STOPS as u64)?;
    let gone = || io::Error::from_raw_os_error(libc::ESRCH);
    await_stop(pid)?.ok_or_else(gone)?;
    program.leave_to_tracer();
    let tracee = Tracee::new(pid);
    let mask = tracee.signal_mask()?;
    tracee.unblock(libc::SIGCONT)?;
    // SAFETY: takes no memory.
    unsafe { libc::kill(pid, libc::SIGCONT) };
    let mut signal = 0;
    loop {
        request(libc::PTRACE_SYSCALL, pid, signal as u64)?;
        match await_stop(pid)?.ok_or_else(gone)? {
            Reason::Signal(libc::SIGCONT) => break,
            // Others that are on their way are the program's.
            Reason::Signal(other) => signal = other,
            _ => signal = 0,
        }
    }
    tracee.set_signal_mask(mask)?;
    Ok(pid)
}

fn await_stop(pid: i32) -> io::Result<Option<Reason>> {
    Ok(wait(pid, 0)?.map(|stop| stop.reason).filter(|reason| !matches!(reason, Reason::Ended { .. })))
}

/// Waits until any of the calling thread's stops or ends; `None` if there are none any more.
///
/// # Errors
/// The system's.
pub fn next() -> io::Result<Option<Stop>> {
    wait(-1, 0)
}

/// Any of them that has stopped or ended by now.
///
/// # Errors
/// Likewise.
pub fn next_by_now() -> io::Result<Option<Stop>> {
    wait(-1, libc::WNOHANG)
}

/// A later stop or the end of one that stopped and has not been let go: it was killed there.
///
/// # Errors
/// Likewise.
pub fn next_of(tid: i32) -> io::Result<Option<Stop>> {
    wait(tid, libc::WNOHANG)
}

fn wait(which: i32, how: i32) -> io::Result<Option<Stop>> {
    loop {
        let mut status = 0;
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: both results point to live locals; all zeros are a valid value of the second.
        let (tid, usage) = unsafe {
            let how = how | libc::__WALL | libc::__WNOTHREAD;
            (libc::wait4(which, &mut status, how, usage.as_mut_ptr()), usage.assume_init())
        };
        if tid > 0 {
            match reason(tid, status, &usage) {
                Some(reason) => return Ok(Some(Stop { tid, reason })),
                None => continue,
            }
        }
        if tid == 0 {
            return Ok(None);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ECHILD) => return Ok(None),
            Some(libc::EINTR) => {}
            _ => return Err(error),
        }
    }
}

/// `None` if it was killed where it stood.
fn reason(tid: i32, status: i32, usage: &libc::rusage) -> Option<Reason> {
    if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
        let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
        let usage = Usage {
            user: time(usage.ru_utime),
            kernel: time(usage.ru_stime),
            max_resident_bytes: usage.ru_maxrss as u64 * 1024,
        };
        return Some(Reason::Ended { wait_status: status, usage });
    }
    let signal = libc::WSTOPSIG(status);
    Some(match status >> 16 {
        0 if signal == CALL_STOP => Reason::Call,
        0 => Reason::Signal(signal),
        libc::PTRACE_EVENT_STOP if signal == libc::SIGTRAP => Reason::Asked,
        libc::PTRACE_EVENT_STOP => Reason::Paused,
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
            Reason::Forked(message(tid)?)
        }
        libc::PTRACE_EVENT_EXEC => Reason::Executed { former: message(tid)? },
        libc::PTRACE_EVENT_EXIT => Reason::Ending(message(tid)?),
        _ => Reason::Asked,
    })
}

/// What the kernel tells with a stop.
fn message(tid: i32) -> Option<i32> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the kernel fills a number.
    let got = unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, tid, 0, &raw mut message) };
    (got == 0).then_some(message as i32)
}

/// Lets a thread that stands run on to its next stop, with a signal or 0 for none. One that is gone need not.
///
/// # Errors
/// The system's.
pub fn go_on(tid: i32, signal: i32) -> io::Result<()> {
    unless_gone(request(libc::PTRACE_SYSCALL, tid, signal as u64))
}

/// Lets a thread that stands go on with the signal that is about to be delivered to it. A call that it ended gives `over` if
/// that is what it would have given by now; else it is made again, unless a handler runs. Whether that is so.
///
/// # Errors
/// The system's.
pub fn deliver(tid: i32, signal: i32, over: Option<i64>) -> io::Result<bool> {
    let is_made_again = undo_interruption(tid, signal, over);
    go_on(tid, signal)?;
    Ok(is_made_again)
}

/// Lets a thread that stands go on untraced, with the signal that is about to be delivered to it.
///
/// # Errors
/// The system's.
pub fn leave(tid: i32, signal: i32) -> io::Result<()> {
    undo_interruption(tid, signal, None);
    unless_gone(request(libc::PTRACE_DETACH, tid, signal as u64))
}

/// Whether a call is made again.
fn undo_interruption(tid: i32, signal: i32, over: Option<i64>) -> bool {
    /// A process that was stopped finds such a call ended natively, too.
    const STOPPING: [i32; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
    let tracee = Tracee::new(tid);
    let Ok(registers) = tracee.registers() else { return false };
    if STOPPING.contains(&signal) || !restart::was_interrupted(&registers) {
        return false;
    }
    match over {
        // If it was killed meanwhile, nothing has to be set right.
        Some(result) => _ = tracee.set_registers(&Registers { rax: result as u64, ..registers }),
        // Where a handler runs it gives `EINTR` all the same.
        None => restart::undo_interruption(tracee, &registers),
    }
    over.is_none()
}

/// Leaves a thread of a stopped process as it is until that goes on.
///
/// # Errors
/// The system's.
pub fn stay(tid: i32) -> io::Result<()> {
    unless_gone(request(libc::PTRACE_LISTEN, tid, 0))
}

fn unless_gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        done => done,
    }
}

/// What a thread that stands at a system call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// It enters this one.
    Entered {
        /// Its number.
        number: u64,
        /// Its arguments.
        arguments: [u64; 6],
        /// Whether it is one of the 32-bit kernel's, which have numbers of their own.
        is_32_bit: bool,
    },
    /// It leaves it with this result, the negative error number if it failed.
    Left(i64),
}

/// Of what architecture a call is (`linux/audit.h`).
const AUDIT_ARCH_I386: u32 = 0x4000_0003;

/// The code segment of 32-bit programs.
const CODE_32_BIT: u64 = 0x23;

/// The call at which a thread stands; `None` if it was killed meanwhile. `inside` says whether it entered one before that it
/// has not left, which kernels older than 5.3 do not tell.
///
/// # Errors
/// The system's.
pub fn call(tid: i32, inside: bool) -> io::Result<Option<Call>> {
    let told = told_call(tid);
    let told = match told {
        Err(error) if error.raw_os_error() == Some(libc::EIO) => call_by_registers(tid, inside).map(Some),
        told => told,
    };
    match told {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        told => told,
    }
}

fn told_call(tid: i32) -> io::Result<Option<Call>> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let size = size_of::<libc::ptrace_syscall_info>();
    // SAFETY: the kernel fills at most as many bytes as the size says; all zeros are valid.
    let info = unsafe {
        if libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, tid, size, info.as_mut_ptr()) < 0 {
            return Err(io::Error::last_os_error());
        }
        info.assume_init()
    };
    // SAFETY: which part is filled is told by `op`.
    Ok(unsafe {
        match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY => Some(Call::Entered {
                number: info.u.entry.nr,
                arguments: info.u.entry.args,
                is_32_bit: info.arch == AUDIT_ARCH_I386,
            }),
            libc::PTRACE_SYSCALL_INFO_EXIT => Some(Call::Left(info.u.exit.sval)),
            _ => None,
        }
    })
}

fn call_by_registers(tid: i32, inside: bool) -> io::Result<Call> {
    let r = Tracee::new(tid).registers()?;
    let is_32_bit = r.cs == CODE_32_BIT;
    Ok(match (inside, is_32_bit) {
        (true, false) => Call::Left(r.rax as i64),
        (true, true) => Call::Left(r.rax as i32 as i64),
        (false, false) => Call::Entered {
            number: r.orig_rax,
            arguments: [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9],
            is_32_bit,
        },
        (false, true) => {
            let arguments = [r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp].map(|word| word & 0xffff_ffff);
            Call::Entered { number: r.orig_rax & 0xffff_ffff, arguments, is_32_bit }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::apart;
    use crate::launch::Launch;

    fn shell(script: &str) -> Halted {
        let mut launch = Launch::new("sh");
        launch.arguments = vec!["-c".into(), script.into()];
        launch.stopped().unwrap().halt().unwrap()
    }

    #[test]
    fn old_and_new_kernels_tell_the_same_of_calls() {
        let halted = shell(":");
        let calls = apart(|| {
            let pid = seize_launched(halted).unwrap();
            let (mut inside, mut calls) = (false, 0);
            go_on(pid, 0).unwrap();
            while let Some(Stop { tid, reason }) = next().unwrap() {
                if let Reason::Call = reason {
                    let told = told_call(tid).unwrap().unwrap();
                    assert_eq!(call_by_registers(tid, inside).unwrap(), told);
                    inside = matches!(told, Call::Entered { .. });
                    calls += usize::from(inside);
                }
                go_on(tid, 0).unwrap();
            }
            calls
        });
        assert!(calls > 10, "{calls}");
    }

    #[test]
    fn a_program_is_stopped_and_goes_on_as_its_user_says() {
        let halted = shell("kill -STOP $$; exit 7");
        let wait_status = apart(|| {
            let pid = seize_launched(halted).unwrap();
            go_on(pid, 0).unwrap();
            let mut has_paused = false;
            while let Some(Stop { tid, reason }) = next().unwrap() {
                match reason {
                    Reason::Paused => {
                        has_paused = true;
                        stay(tid).unwrap();
                        // SAFETY: takes no memory; it is our child.
                        assert_eq!(unsafe { libc::kill(pid, libc::SIGCONT) }, 0);
                    }
                    Reason::Signal(signal) => go_on(tid, signal).unwrap(),
                    Reason::Ended { wait_status, .. } => {
                        assert!(has_paused);
                        return wait_status;
                    }
                    _ => go_on(tid, 0).unwrap(),
                }
            }
            unreachable!("it ends")
        });
        assert_eq!(libc::WEXITSTATUS(wait_status), 7);
    }

    #[test]
    fn what_its_tracer_leaves_runs_on() {
        let halted = shell("sleep 0.1 & wait; exit 7");
        let pid = apart(|| {
            let pid = seize_launched(halted).unwrap();
            go_on(pid, 0).unwrap();
            for _ in 0..20 {
                let Stop { tid, .. } = next().unwrap().unwrap();
                go_on(tid, 0).unwrap();
            }
            pid
        });
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
        assert_eq!(libc::WEXITSTATUS(status), 7);
    }
}
