//! What signals are called.

/// By number, from 1 on.
const STANDARD: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// The first that is queued, as the kernel numbers them.
const FIRST_QUEUED: i32 = 32;

/// The name of a signal; those that are queued are `SIGRT_0` and so on, by the kernel's number of them.
pub fn name(signal: i32) -> String {
    match usize::try_from(signal - 1).ok().and_then(|at| STANDARD.get(at)) {
        Some(name) => (*name).into(),
        None => format!("SIGRT_{}", signal - FIRST_QUEUED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_called_as_the_system_numbers_them() {
        for (signal, named) in [
            (libc::SIGHUP, "SIGHUP"),
            (libc::SIGSTKFLT, "SIGSTKFLT"),
            (libc::SIGCHLD, "SIGCHLD"),
            (libc::SIGWINCH, "SIGWINCH"),
            (libc::SIGSYS, "SIGSYS"),
            (33, "SIGRT_1"),
        ] {
            assert_eq!(name(signal), named);
        }
    }
}
