//! How long system calls wait that give `EINTR` for any interruption, and what they give when that is over: where such a call
//! is made again it begins anew, which nobody may have it do for ever.

use crate::memory;
use std::time::Duration;

/// How long a call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// At most.
    pub after: Duration,
    /// What it gives then: a number, or the negative one of an error.
    pub result: i64,
}

/// In which argument a call says how long it waits.
enum Told {
    /// Milliseconds, a 32-bit number; negative for ever.
    Milliseconds(usize),
    /// The address of seconds and nanoseconds; none for ever.
    Time(usize),
}

/// What 64-bit calls of [`crate::restart`] have a timeout that is told with them. That of a socket (`SO_RCVTIMEO`) is not.
const CALLS: [(libc::c_long, Told, i64); 6] = [
    (libc::SYS_epoll_wait, Told::Milliseconds(3), 0),
    (libc::SYS_epoll_pwait, Told::Milliseconds(3), 0),
    (libc::SYS_epoll_pwait2, Told::Time(3), 0),
    (libc::SYS_io_getevents, Told::Time(4), 0),
    (libc::SYS_rt_sigtimedwait, Told::Time(2), TRY_AGAIN),
    (libc::SYS_semtimedop, Told::Time(3), TRY_AGAIN),
];

const TRY_AGAIN: i64 = -(libc::EAGAIN as i64);

impl Timeout {
    /// That of a system call which a thread enters; `None` if it waits for ever, or does not tell.
    pub fn of_call(tid: i32, number: u64, arguments: &[u64; 6]) -> Option<Timeout> {
        let (_, told, result) = CALLS.iter().find(|(call, ..)| *call as u64 == number)?;
        let after = match told {
            Told::Milliseconds(at) => Duration::from_millis(u64::try_from(arguments[*at] as i32).ok()?),
            Told::Time(at) => time_at(tid, arguments[*at])?,
        };
        Some(Timeout { after, result: *result })
    }
}

fn time_at(tid: i32, address: u64) -> Option<Duration> {
    let mut bytes = [0; 2 * size_of::<u64>()];
    if address == 0 || memory::read(tid, address, &mut bytes) < bytes.len() {
        return None;
    }
    let (seconds, nanoseconds) = bytes.split_at(size_of::<u64>());
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).ok();
    Some(Duration::new(word(seconds)?, u32::try_from(word(nanoseconds)?).ok()?.min(999_999_999)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_tell_how_long_they_wait() {
        let own = std::process::id() as i32;
        let told = |call: libc::c_long, arguments| Timeout::of_call(own, call as u64, &arguments);
        let at = |after_ms, result| Some(Timeout { after: Duration::from_millis(after_ms), result });
        assert_eq!(told(libc::SYS_epoll_wait, [0, 0, 0, 100, 0, 0]), at(100, 0));
        assert_eq!(told(libc::SYS_epoll_wait, [0, 0, 0, u64::from(u32::MAX), 0, 0]), None, "for ever");
        let time = [2_u64, 500_000_000];
        assert_eq!(told(libc::SYS_semtimedop, [0, 0, 0, time.as_ptr() as u64, 0, 0]), at(2500, TRY_AGAIN));
        assert_eq!(told(libc::SYS_semtimedop, [0; 6]), None, "for ever");
        assert_eq!(told(libc::SYS_read, [0, 0, 0, 100, 0, 0]), None);
    }
}
