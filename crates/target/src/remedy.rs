//! What to do where the system refuses something that every recording needs.

use std::io;

/// What to do where there can be no further process or thread.
pub const MORE_THREADS: &str =
    "allow more processes or memory: ulimit -u, ulimit -v, ulimit -d, pids.max of the control group";

/// What to do about `cause`: which limit to raise, or who knows more.
pub fn remedy(cause: &io::Error) -> &'static str {
    raised_limit(cause).unwrap_or("timewise doctor says what this machine allows")
}

/// Which limit to raise, if `cause` is one.
pub fn raised_limit(cause: &io::Error) -> Option<&'static str> {
    match cause.raw_os_error() {
        Some(libc::EAGAIN) => Some(MORE_THREADS),
        Some(libc::EMFILE) => Some("allow more of them: ulimit -n 1024"),
        Some(libc::ENOMEM) => Some("allow more memory: ulimit -d unlimited; ulimit -v unlimited"),
        Some(libc::EFBIG) => Some("allow larger files: ulimit -f unlimited"),
        _ => None,
    }
}
