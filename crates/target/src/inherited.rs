//! What this process inherited and the standard library changes, before `main` or between fork and exec, or what we change
//! ourselves: a program that is launched is to find it as it would natively.

use std::sync::OnceLock;

static INHERITED: OnceLock<Inherited> = OnceLock::new();

// Called by the C library before `main`, and so before the standard library opens what is closed.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

extern "C" fn note() {
    if INHERITED.get_or_init(Inherited::here).ignored(libc::SIGCHLD) {
        // SAFETY: sets a disposition that needs no code. Where it is ignored, the kernel waits for our children itself, and
        // we never learn how one ended.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    }
}

/// The standard signals: of those that are queued, neither the standard library nor we change how any is taken.
const STANDARD: std::ops::RangeInclusive<libc::c_int> = 1..=31;

/// What was found.
#[derive(Clone, Copy)]
pub struct Inherited {
    /// Which of the three standard descriptors were closed: `/dev/null` is there now.
    closed: [bool; 3],
    /// Which of [`STANDARD`] were ignored, a bit each.
    ignored: u32,
    /// Signals that were blocked.
    blocked: libc::sigset_t,
}

impl Inherited {
    /// What was there when this process began.
    pub fn at_start() -> Inherited {
        *INHERITED.get_or_init(Inherited::here)
    }

    /// Whether standard output was closed, so that what is written to it now is lost.
    pub fn lacked_output(&self) -> bool {
        self.closed[1]
    }

    /// Whether a standard signal was ignored. May be called in a signal handler.
    pub fn ignored(&self, signal: libc::c_int) -> bool {
        self.ignored & 1 << signal != 0
    }

    fn here() -> Inherited {
        // SAFETY: the results are plain numbers, for which all zeroes are fine; the calls write to them only.
        unsafe {
            let mut blocked: libc::sigset_t = std::mem::zeroed();
            libc::sigprocmask(libc::SIG_SETMASK, std::ptr::null(), &mut blocked);
            Inherited {
                closed: [0, 1, 2].map(|descriptor| libc::fcntl(descriptor, libc::F_GETFD) < 0),
                ignored: STANDARD.fold(0, |ignored, signal| {
                    let mut action: libc::sigaction = std::mem::zeroed();
                    libc::sigaction(signal, std::ptr::null(), &mut action);
                    ignored | u32::from(action.sa_sigaction == libc::SIG_IGN) << signal
                }),
                blocked,
            }
        }
    }

    /// Puts it back. Makes system calls only, so that it may be called between fork and exec.
    pub fn restore(&self) {
        for (descriptor, _) in (0..).zip(self.closed).filter(|&(_, closed)| closed) {
            if is_null_device(descriptor) {
                // SAFETY: nothing here uses it; it was closed to begin with.
                unsafe { libc::close(descriptor) };
            }
        }
        self.restore_signals();
    }

    /// Puts back how signals are taken, likewise.
    pub fn restore_signals(&self) {
        // SAFETY: sets dispositions that need no code, and a mask that was in force before.
        unsafe {
            for signal in STANDARD.filter(|&signal| self.ignored(signal)) {
                libc::signal(signal, libc::SIG_IGN);
            }
            libc::sigprocmask(libc::SIG_SETMASK, &self.blocked, std::ptr::null_mut());
        }
    }
}

/// Whether a descriptor is of `/dev/null`, not of what a launch put in its place.
fn is_null_device(descriptor: i32) -> bool {
    // SAFETY: all zeroes are a valid result, which the call replaces.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        libc::fstat(descriptor, &mut about) == 0 && about.st_rdev == libc::makedev(1, 3)
    }
}
