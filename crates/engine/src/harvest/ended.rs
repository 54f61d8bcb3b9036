//! Whether a process no longer uses its memory in the shared file.

use super::area;
use crate::arena::Arena;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use timewise_abi::process::{ProcessRecord, state};
use timewise_abi::thread;

/// A process in a namespace of its own has other numbers than those that we see, and always seems gone. From
/// its word that it ends to its end are a few instructions; it is given this much time for them.
const GRACE: Duration = Duration::from_millis(500);

/// When processes were first seen to have said that they end.
#[derive(Debug, Default)]
pub struct Ended {
    since: HashMap<u64, Instant>,
}

impl Ended {
    /// Whether the process has ended, or called `execve`, and nobody else uses its memory.
    pub fn is(&mut self, arena: &Arena, record: u64, process: &ProcessRecord) -> bool {
        let said = process.state.load(Ordering::Acquire);
        let gone = match said {
            state::REPLACED => true,
            state::ENDED => {
                let since = *self.since.entry(record).or_insert_with(Instant::now);
                since.elapsed() >= GRACE && has_left_the_system(process.pid.load(Ordering::Relaxed))
            }
            _ => false,
        };
        let ended = gone && !is_shared(arena, process);
        if ended {
            self.since.remove(&record);
        }
        ended
    }
}

/// Whether another process may live on in this one's memory, as after `vfork`.
fn is_shared(arena: &Arena, process: &ProcessRecord) -> bool {
    area::offsets(arena, process).0.into_iter().filter_map(|offset| arena.thread(offset)).any(|area| {
        // SAFETY: within the file; `sharing` is written before its thread runs, the state is atomic.
        let (sharing, state) = unsafe { ((*area).sharing, &(*area).state) };
        sharing != 0 && state.load(Ordering::Acquire) != thread::state::FREE
    })
}

/// Whether a process is gone, or but waits to be waited for: then its memory is gone.
fn has_left_the_system(pid: u32) -> bool {
    match std::fs::read(format!("/proc/{pid}/stat")) {
        // The name, in parentheses, may hold any character.
        Ok(text) => text
            .iter()
            .rposition(|&byte| byte == b')')
            .and_then(|at| text.get(at + 2))
            .is_some_and(|&state| state == b'Z' || state == b'X'),
        Err(error) => {
            error.kind() == std::io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn only_the_living_use_memory() {
        assert!(!has_left_the_system(std::process::id()));
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        let begun = Instant::now();
        while !has_left_the_system(pid) {
            assert!(begun.elapsed() < Duration::from_secs(100), "a zombie has no memory");
        }
        child.wait().unwrap();
        assert!(has_left_the_system(pid));
    }
}
