//! Limits of a process as the system lists them, also of those of another user, whose limits `prlimit` does not tell.

use libc::RLIM_INFINITY;

/// The soft and the hard limit of process `pid` that the system lists by this name; `None` if it is gone or hidden.
pub fn listed(pid: i32, name: &str) -> Option<[u64; 2]> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let mut values = line.split_whitespace().map(|word| match word {
        "unlimited" => Some(RLIM_INFINITY),
        number => number.parse().ok(),
    });
    Some([values.next()??, values.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_listed_are_those_that_hold() {
        let mut own = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        for (name, resource) in [
            ("Max open files", libc::RLIMIT_NOFILE),
            ("Max address space", libc::RLIMIT_AS),
            ("Max stack size", libc::RLIMIT_STACK),
        ] {
            // SAFETY: writes one structure.
            unsafe { libc::getrlimit(resource, &raw mut own) };
            assert_eq!(listed(std::process::id() as i32, name), Some([own.rlim_cur, own.rlim_max]), "{name}");
        }
        assert_eq!(listed(i32::MAX, "Max open files"), None);
    }
}
