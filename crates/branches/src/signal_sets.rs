//! Which signals a thread blocks and handles, and which wait for it.

/// One of the sets that the kernel tells of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Signals that it blocks.
    Blocked,
    /// Signals that wait to be delivered to it.
    Pending,
    /// Signals that its process handles.
    Caught,
}

/// Whether `SIGTRAP` is in a set of a thread now; not if the thread is gone.
pub fn has_trap(pid: i32, tid: i32, set: Set) -> bool {
    let status = std::fs::read(format!("/proc/{pid}/task/{tid}/status")).unwrap_or_default();
    // The name in it may be of any bytes.
    is_in(&String::from_utf8_lossy(&status), set)
}

fn is_in(status: &str, set: Set) -> bool {
    let name = match set {
        Set::Blocked => "SigBlk:",
        Set::Pending => "SigPnd:",
        Set::Caught => "SigCgt:",
    };
    let mask = status.lines().find_map(|line| line.strip_prefix(name));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (libc::SIGTRAP - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_is_read_by_itself() {
        let status = "Name:\ta\nSigPnd:\t0000000000000000\nSigBlk:\tfffffffe7ffbfeff\n";
        assert!(is_in(status, Set::Blocked) && !is_in(status, Set::Pending));
        assert!(!is_in(&status.replace("feff", "feef"), Set::Blocked));
        assert!(!is_in("", Set::Pending));
    }
}
