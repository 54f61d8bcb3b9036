//! Signals while a program runs under us: they are meant for it, and we live on to save what was
//! recorded.

use std::sync::atomic::{AtomicI32, Ordering};

/// The program's process, for the signal handler.
static PROGRAM: AtomicI32 = AtomicI32::new(0);

/// From now on, a terminal's interrupt and quit, which reach the program by themselves, do not end
/// us, and requests to terminate or hang up are passed on to the program. To be called after the
/// launch: an ignored signal would stay ignored in the program.
pub fn leave_to(pid: i32) {
    PROGRAM.store(pid, Ordering::Relaxed);
    let pass_on = pass_on as *const () as libc::sighandler_t;
    let wanted = [
        (libc::SIGINT, libc::SIG_IGN),
        (libc::SIGQUIT, libc::SIG_IGN),
        (libc::SIGTERM, pass_on),
        (libc::SIGHUP, pass_on),
    ];
    for (signal, handler) in wanted {
        // SAFETY: the handler makes a system call only, which is allowed in a signal handler.
        unsafe { libc::signal(signal, handler) };
    }
}

/// The program has ended: its process id may soon be another's.
pub fn program_ended() {
    PROGRAM.store(0, Ordering::Relaxed);
}

extern "C" fn pass_on(signal: libc::c_int) {
    let pid = PROGRAM.load(Ordering::Relaxed);
    if pid > 0 {
        // SAFETY: takes no memory.
        unsafe { libc::kill(pid, signal) };
    }
}

/// Ends this process by `signal`, without a core file of our own. Returns if the signal does not
/// end processes.
pub fn end_by(signal: i32) {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `none` is a live structure; the other calls take no memory.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
