//! Ending as a program ended that we ran.

use std::process::ExitCode;
use timewise_profile::Exit;

/// Ends this process by the signal that ended a program, or tells the status with which to end. `None` if it is not
/// known how the program ended.
pub fn like(exit: Exit) -> Option<ExitCode> {
    match exit {
        Exit::Code(code) => Some(ExitCode::from(code as u8)),
        Exit::Signal(signal) => {
            by_signal(signal);
            // A signal that does not end a process: what a shell would report.
            Some(ExitCode::from((128 + signal) as u8))
        }
        Exit::Unknown => None,
    }
}

/// Ends this process by `signal`, without a core file of our own. Returns if the signal does not end processes.
pub fn by_signal(signal: i32) {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `none` is a live structure; the other calls take no memory.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
