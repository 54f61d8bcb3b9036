//! The command `timewise`, attached to our own process: begun and ended so that the program notices no child.

use crate::Errno;
use crate::command::Command;
use crate::orphan;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Where our descriptors begin, as those of the tracer in the program: the program's own have the numbers that they would
/// have without us.
const LOWEST: RawFd = 512;

/// How long the process that does the command's work is waited for when somebody killed the command: as long as it has to
/// give the program back.
const PATIENCE_MS: i32 = 60_000;

/// What the command tells when the profile is saved.
const SAVED: i32 = 0;

/// The command, while it traces us.
#[derive(Debug)]
pub struct Attached {
    /// Its process.
    process: OwnedFd,
    /// Through which it tells how it goes. Another thread may fork meanwhile and keep the other end open: that it is closed
    /// is not all by which the command's end is known.
    channel: OwnedFd,
}

impl Attached {
    /// Starts it, and waits until it traces us.
    ///
    /// # Errors
    /// `ENOENT` if there is no such command, `EPERM` if it cannot attach, or what the system refused.
    pub fn start(path: &CStr, rate: u32, length: u32) -> Result<Attached, Errno> {
        let (channel, theirs) = channel()?;
        let command = Command::new(path, rate, length, theirs.as_raw_fd())?;
        let pid = orphan::start(&command, &theirs)?;
        drop(theirs);
        let attached = Attached { process: process(pid)?, channel };
        allow_tracing_by(pid);
        attached.let_go_on();
        match attached.told() {
            Some(tracer @ 1..) => {
                allow_tracing_by(tracer);
                Ok(attached)
            }
            failed => {
                attached.end();
                Err(failed.map_or(libc::EPERM, |error_number| -error_number))
            }
        }
    }

    /// Ends it, and waits until it has written its profile: 0, or `EIO`.
    pub fn stop(self) -> Errno {
        const NONE: *const libc::siginfo_t = std::ptr::null();
        // SAFETY: passes no memory.
        unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, self.process.as_raw_fd(), libc::SIGINT, NONE, 0)
        };
        let told = self.told();
        self.end();
        if told == Some(SAVED) { 0 } else { libc::EIO }
    }

    /// Lets its process execute it.
    fn let_go_on(&self) {
        // SAFETY: one byte that lives. If nobody reads it, that shows later.
        unsafe { libc::send(self.channel.as_raw_fd(), [0_u8].as_ptr().cast(), 1, libc::MSG_NOSIGNAL) };
    }

    /// The next that it tells, or an error number of the system's, negative, if it could not be executed; `None` if it has
    /// ended.
    fn told(&self) -> Option<i32> {
        wait(&[&self.channel, &self.process], -1);
        wait(&[&self.channel], PATIENCE_MS);
        let mut word = 0_i32;
        let (to, bytes) = ((&raw mut word).cast(), size_of_val(&word));
        // SAFETY: the memory is that of a live local.
        let read = unsafe { libc::recv(self.channel.as_raw_fd(), to, bytes, libc::MSG_DONTWAIT) };
        (read == bytes as isize).then_some(word)
    }

    /// Waits for its end.
    fn end(&self) {
        wait(&[&self.process], -1);
        allow_tracing_by(0);
        // SAFETY: all zeros are a valid value.
        let mut ended: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WEXITED | libc::WNOHANG | libc::__WALL;
        // Orphans become children of the first process of a container, and of one that has asked for them.
        // SAFETY: the result goes to a live local. It is refused if that is not us.
        unsafe { libc::waitid(libc::P_PIDFD, self.process.as_raw_fd() as libc::id_t, &mut ended, options) };
    }
}

/// Waits until one of some descriptors has something to read, or is at its end.
fn wait(descriptors: &[&OwnedFd], time_ms: i32) {
    let watched = |fd: &&OwnedFd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut watched: Vec<libc::pollfd> = descriptors.iter().map(watched).collect();
    // SAFETY: as many live structures as are said. A signal that the program handles interrupts it.
    while unsafe { libc::poll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, time_ms) } == -1
        && last_error() == libc::EINTR
    {}
}

/// Two ends, of messages as they were sent.
fn channel() -> Result<(OwnedFd, OwnedFd), Errno> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the system fills both.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } != 0 {
        return Err(last_error());
    }
    // SAFETY: they are open, and nobody else's.
    let [ours, theirs] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    Ok((out_of_the_way(ours)?, out_of_the_way(theirs)?))
}

/// A descriptor of a process.
fn process(pid: libc::pid_t) -> Result<OwnedFd, Errno> {
    // SAFETY: passes no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(last_error());
    }
    // SAFETY: it is open, and nobody else's.
    out_of_the_way(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// The same with another number; none of the standard ones in any case.
fn out_of_the_way(descriptor: OwnedFd) -> Result<OwnedFd, Errno> {
    // SAFETY: all zeros are a valid value.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    // SAFETY: the system fills it.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    let lowest = (limit.rlim_cur / 2).clamp(3, LOWEST as u64);
    // SAFETY: passes no memory.
    match unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_DUPFD_CLOEXEC, lowest as i32) } {
        -1 => Err(last_error()),
        // SAFETY: it is open, and nobody else's.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
    }
}

/// Lets a process, and those that descend from it, trace us where Yama restricts that to ancestors; 0 for none. Elsewhere
/// whom the program itself has allowed that stays allowed.
fn allow_tracing_by(pid: libc::pid_t) {
    const TO_ANCESTORS: &[u8] = b"1";
    let restricted = std::fs::read("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    if restricted.trim_ascii() == TO_ANCESTORS {
        // SAFETY: passes no memory.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, pid as libc::c_ulong, 0, 0, 0) };
    }
}

/// Why the last system call failed.
fn last_error() -> Errno {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}
