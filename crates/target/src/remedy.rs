//! What to do where the system refuses something that every recording needs.

use std::io;

/// What to do about `cause`: which limit to raise, or who knows more.
pub fn remedy(cause: &io::Error) -> &'static str {
    match cause.raw_os_error() {
        Some(libc::EMFILE) => "allow more of them: ulimit -n 1024",
        Some(libc::EFBIG) => "allow larger files: ulimit -f unlimited",
        _ => "timewise doctor says what this machine allows",
    }
}
