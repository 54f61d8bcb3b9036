//! Whom a signal was for that reached us. One that was sent to all of our process group, as by `kill -TERM -PGID`, has
//! reached a program in it already; one that was sent to us alone is to be passed on to it. A signal does not say which of
//! the two it was. A process beside us tells that does nothing else and that nobody knows of, so that nothing is sent
//! to it alone: what has reached it, too, was sent to all.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::{Duration, Instant};
use std::{fs, io};

/// Its name, so that whoever signals all processes of our name leaves it out.
const NAME: &std::ffi::CStr = c"tw-bystander";

/// To a group the kernel sends at once. Those who go from process to process, as systemd does when it stops all of a
/// service, have come by everywhere after this time.
const ROUND: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// What reached us is taken for what reached the bystander no longer ago than this. The kernel delivers two signals of a
/// kind as one to who is slow to take them, so some of what it saw is never asked about.
const LATE: Duration = Duration::from_secs(1);

/// For the same reason two that reached us within this time may have reached the bystander as one.
const AT_ONCE: Duration = Duration::from_millis(20);

/// A process beside us, until we dismiss it or end. It passes on to a program what was sent to us alone.
#[derive(Debug)]
pub struct Bystander {
    pid: libc::pid_t,
    channel: OwnedFd,
}

/// A signal that reached us, and the program that it is for.
#[repr(C)]
#[derive(Clone, Copy)]
struct Question {
    about: libc::siginfo_t,
    program: libc::pid_t,
}

impl Bystander {
    /// Starts one for these signals.
    ///
    /// # Errors
    /// The system's, if it allows no further process or descriptor.
    pub fn start(signals: &[libc::c_int]) -> io::Result<Bystander> {
        let (channel, own) = channel()?;
        let arguments = arguments().unwrap_or_default();
        // SAFETY: both sets are live, and all zeros are a valid value. The child has a copy of our memory and this thread
        // alone, and `stand_by` takes no lock that another thread may have held.
        unsafe {
            let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
            for &signal in signals {
                libc::sigaddset(&mut all, signal);
            }
            // From its first moment on they wait for it to take them.
            libc::pthread_sigmask(libc::SIG_BLOCK, &all, &mut before);
            let pid = libc::fork();
            if pid == 0 {
                stand_by(own.as_raw_fd(), &all, arguments);
            }
            let failed = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
            if pid < 0 { Err(failed) } else { Ok(Bystander { pid, channel }) }
        }
    }

    /// Has a signal that reached us passed on to a program of our group, unless it reached that by itself. May be called in
    /// a signal handler. Whether the bystander is there to do so.
    pub fn ask(&self, program: libc::pid_t, about: &libc::siginfo_t) -> bool {
        let question = Question { about: *about, program };
        let size = size_of::<Question>();
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: reads a live structure of that size; the descriptor is ours.
        let sent = unsafe { libc::send(self.channel.as_raw_fd(), (&raw const question).cast(), size, flags) };
        sent == size as isize
    }

    /// Ends it, once no program is there any more. Not left to its noticing our own end: not every first process of a
    /// container waits for what it inherits.
    pub fn dismiss(&self) {
        // SAFETY: our own child, for which nobody else waits; no result is wanted.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

/// Sends a signal on to a program, with the value that came with it. May be called in a signal handler.
pub fn pass_on(program: libc::pid_t, about: &libc::siginfo_t) {
    // SAFETY: reads a live structure.
    unsafe {
        if about.si_code == libc::SI_QUEUE {
            libc::syscall(libc::SYS_rt_sigqueueinfo, program, about.si_signo, about);
        } else {
            libc::kill(program, about.si_signo);
        }
    }
}

/// Where the kernel put the arguments of this process, which it shows to others.
fn arguments() -> Option<Range<usize>> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    // By proc(5), whose third field is the first here.
    let field = |number: usize| rest.split_whitespace().nth(number - 3)?.parse().ok();
    Some(field(48)?..field(49)?)
}

/// Both ends of a channel that keeps messages apart and tells when the other end is gone.
fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: two descriptors are written to a live array.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just made them; nobody else owns them.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// What the bystander does: it answers questions until nobody is there any more to ask.
///
/// # Safety
/// Only in the process for it: other threads may have been anywhere when it was made, so these are system calls alone.
unsafe fn stand_by(channel: RawFd, signals: &libc::sigset_t, arguments: Range<usize>) -> ! {
    // SAFETY: the name and the set are live; nothing here reads the arguments, which this process has a copy of. The
    // descriptors are its own; it keeps none open that others wait to see closed, or does not stay.
    let taken = unsafe {
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
        // Whoever looks for processes by their arguments leaves it out as well.
        ptr::with_exposed_provenance_mut::<u8>(arguments.start).write_bytes(0, arguments.len());
        let (first, last) = (channel as libc::c_uint, libc::c_uint::MAX);
        if first > 0 && libc::syscall(libc::SYS_close_range, 0, first - 1, 0) < 0
            || libc::syscall(libc::SYS_close_range, first + 1, last, 0) < 0
        {
            libc::_exit(1);
        }
        match libc::signalfd(-1, signals, libc::SFD_NONBLOCK) {
            -1 => libc::_exit(1),
            taken => taken,
        }
    };
    let mut seen = Seen::default();
    loop {
        let mut ready = [taken, channel].map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        // SAFETY: a live array of that length.
        unsafe { libc::poll(ready.as_mut_ptr(), ready.len() as libc::nfds_t, -1) };
        seen.take(taken);
        let mut open = [const { None }; 32];
        let mut is_over = false;
        for place in &mut open {
            match next(channel) {
                Asked::Of(question) if seen.has(&question) => {}
                Asked::Of(question) => *place = Receiver::of(question.program).map(|to| (question, to)),
                Asked::Nothing => break,
                Asked::NoMore => {
                    is_over = true;
                    break;
                }
            }
        }
        if open.iter().any(Option::is_some) {
            // SAFETY: a live constant.
            unsafe { libc::nanosleep(&ROUND, std::ptr::null_mut()) };
            seen.take(taken);
            let alone = open.iter().flatten().filter(|(question, _)| !seen.has(question));
            alone.for_each(|(question, to)| to.take(&question.about));
        }
        if is_over {
            // SAFETY: ends this process, without what ends ours.
            unsafe { libc::_exit(0) };
        }
    }
}

/// A program that a signal may be passed on to later, when its number may be another's.
enum Receiver {
    Known(OwnedFd),
    /// By a kernel that has no handles for processes.
    Numbered(libc::pid_t),
}

impl Receiver {
    /// `None` if it is gone.
    fn of(program: libc::pid_t) -> Option<Receiver> {
        // SAFETY: takes no memory.
        match unsafe { libc::syscall(libc::SYS_pidfd_open, program, 0) } {
            // SAFETY: the kernel just made it; nobody else owns it.
            handle if handle >= 0 => Some(Receiver::Known(unsafe { OwnedFd::from_raw_fd(handle as RawFd) })),
            _ if io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH) => None,
            _ => Some(Receiver::Numbered(program)),
        }
    }

    fn take(&self, about: &libc::siginfo_t) {
        match self {
            Receiver::Numbered(program) => pass_on(*program, about),
            Receiver::Known(handle) => {
                let value = if about.si_code == libc::SI_QUEUE { about } else { ptr::null() };
                let (handle, signal) = (handle.as_raw_fd(), about.si_signo);
                // SAFETY: reads a live structure, or none.
                unsafe { libc::syscall(libc::SYS_pidfd_send_signal, handle, signal, value, 0) };
            }
        }
    }
}

/// What is to be read from the channel.
enum Asked {
    Of(Question),
    Nothing,
    NoMore,
}

fn next(channel: RawFd) -> Asked {
    let mut question = MaybeUninit::<Question>::uninit();
    let size = size_of::<Question>();
    // SAFETY: writes to a live place of that size.
    match unsafe { libc::recv(channel, question.as_mut_ptr().cast(), size, libc::MSG_DONTWAIT) } {
        0 => Asked::NoMore,
        // SAFETY: all of it was written by `ask`.
        got if got == size as isize => Asked::Of(unsafe { question.assume_init() }),
        _ => Asked::Nothing,
    }
}

/// Signals that reached the bystander and that nobody has asked about.
#[derive(Default)]
struct Seen {
    kinds: [Kind; 16],
}

/// Those of one number from one sender.
#[derive(Clone, Copy, Default)]
struct Kind {
    signal: i32,
    code: i32,
    sender: i32,
    times: u32,
    last: Option<Instant>,
}

impl Kind {
    /// Whether it is this kind, of which one came within so long.
    fn is_alike(&self, signal: i32, code: i32, sender: i32, within: Duration) -> bool {
        (self.signal, self.code, self.sender) == (signal, code, sender)
            && self.last.is_some_and(|last| last.elapsed() < within)
    }
}

impl Seen {
    /// Takes all that has come.
    fn take(&mut self, from: RawFd) {
        let mut about = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of_val(&about);
        // SAFETY: writes to a live place of that size.
        while unsafe { libc::read(from, about.as_mut_ptr().cast(), size) } == size as isize {
            // SAFETY: the kernel has written all of it.
            let about = unsafe { about.assume_init() };
            self.note(about.ssi_signo as i32, about.ssi_code, about.ssi_pid as i32);
        }
    }

    fn note(&mut self, signal: i32, code: i32, sender: i32) {
        let now = Some(Instant::now());
        match self.kinds.iter_mut().find(|kind| kind.is_alike(signal, code, sender, LATE)) {
            Some(kind) => (kind.times, kind.last) = (kind.times + 1, now),
            None => {
                let oldest = self.kinds.iter_mut().min_by_key(|kind| kind.last);
                oldest
                    .into_iter()
                    .for_each(|kind| *kind = Kind { signal, code, sender, times: 1, last: now });
            }
        }
    }

    /// Whether what is asked about has come here, too, which answers for one of its kind.
    fn has(&mut self, question: &Question) -> bool {
        let about = &question.about;
        // SAFETY: of a signal that a process sent; of one by the kernel the place is zero here and there.
        let sender = unsafe { about.si_pid() };
        let mut kinds = self.kinds.iter_mut();
        let Some(kind) = kinds.find(|kind| kind.is_alike(about.si_signo, about.si_code, sender, LATE)) else {
            return false;
        };
        let is_seen = kind.times > 0 || kind.is_alike(about.si_signo, about.si_code, sender, AT_ONCE);
        kind.times = kind.times.saturating_sub(1);
        is_seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_that_came_answers_for_one() {
        let question = |signal, code| {
            // SAFETY: all zeros are a valid value; without a sender, as what the kernel sends.
            let mut about: libc::siginfo_t = unsafe { std::mem::zeroed() };
            (about.si_signo, about.si_code) = (signal, code);
            Question { about, program: 0 }
        };
        let mut seen = Seen::default();
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGTERM] {
            seen.note(signal, libc::SI_USER, 0);
        }
        seen.note(libc::SIGHUP, libc::SI_USER, 7);
        let pass = |seen: &mut Seen, time| {
            seen.kinds
                .iter_mut()
                .for_each(|kind| kind.last = kind.last.and_then(|last| last.checked_sub(time)));
        };
        pass(&mut seen, AT_ONCE);
        let asked = [
            (libc::SIGTERM, libc::SI_KERNEL),
            (libc::SIGTERM, libc::SI_USER),
            (libc::SIGTERM, libc::SI_USER),
            (libc::SIGTERM, libc::SI_USER),
            (libc::SIGINT, libc::SI_USER),
            (libc::SIGHUP, libc::SI_USER),
        ];
        let answers = asked.map(|(signal, code)| seen.has(&question(signal, code)));
        assert_eq!(answers, [false, true, true, false, true, false]);
        // One that came just now may be two, and one that came long ago answers for none.
        seen.note(libc::SIGTERM, libc::SI_USER, 0);
        assert!(seen.has(&question(libc::SIGTERM, libc::SI_USER)));
        seen.note(libc::SIGTERM, libc::SI_USER, 0);
        pass(&mut seen, LATE);
        assert!(!seen.has(&question(libc::SIGTERM, libc::SI_USER)));
    }
}
