//! What timewise has put into a process already, and whether whoever did so still sees to it.

use std::io;
use std::mem::offset_of;
use timewise_abi::tracing::{self, TraceHeader};
use timewise_abi::{RESERVED_HIGH, SharedHeader};
use timewise_target::attachable::AttachError;
use timewise_target::{maps, memory};

/// What is in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// It is counted.
    Counting {
        /// Whether whoever counts it still runs.
        host_lives: bool,
    },
    /// It is traced, or was when it was forked.
    Tracing {
        /// The process that is traced: of one that was forked from it, this is a copy.
        traced: i32,
        /// Whether whoever traces that still runs.
        host_lives: bool,
    },
}

impl Occupant {
    /// What is in process `pid`, if anything of ours is.
    ///
    /// # Errors
    /// The system's, if the process is gone or hidden.
    pub fn of(pid: i32) -> io::Result<Option<Occupant>> {
        let base = RESERVED_HIGH.start;
        let Some(file) = maps::file_at(pid, base)? else { return Ok(None) };
        let word = |offset: usize| {
            let mut bytes = [0; size_of::<u64>()];
            let got = memory::read(pid, base + offset as u64, &mut bytes);
            (got == bytes.len()).then(|| u64::from_ne_bytes(bytes))
        };
        let host_lives = |offset| word(offset).is_none_or(|host| lives(host as u32 as i32, file));
        Ok(match word(offset_of!(TraceHeader, magic)) {
            Some(tracing::MAGIC) => Some(Occupant::Tracing {
                traced: word(offset_of!(TraceHeader, pid)).unwrap_or_default() as u32 as i32,
                host_lives: host_lives(offset_of!(TraceHeader, host_pid)),
            }),
            Some(timewise_abi::MAGIC) => {
                Some(Occupant::Counting { host_lives: host_lives(offset_of!(SharedHeader, host_pid)) })
            }
            _ => None,
        })
    }

    /// Why process `pid`, in which it is, cannot be attached to.
    pub fn obstacle(self, pid: i32) -> AttachError {
        let why = match self {
            Occupant::Tracing { traced, host_lives: true } if traced == pid => {
                "timewise traces it already; end that first".into()
            }
            Occupant::Counting { host_lives: true } => "timewise counts it already; end that first".into(),
            Occupant::Counting { host_lives: false } => {
                "it runs under the count of a timewise that was killed, and does so until it ends; start it anew".into()
            }
            Occupant::Tracing { .. } => format!(
                "what it, or the process that it was forked from, was traced with is still in it; take it out: \
                 timewise branches --pid {pid} --for 1s"
            ),
        };
        AttachError::Unfit { pid, why }
    }
}

/// Whether the host still runs: whichever process has its number, it has this file mapped. If nobody may know, it does.
fn lives(host: i32, file: (u64, u64)) -> bool {
    match maps::has_mapped(host, file) {
        Ok(has_mapped) => has_mapped,
        Err(error) => !matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_its_own_has_nothing_of_ours_and_one_that_is_gone_is_dead() {
        let own = std::process::id() as i32;
        assert_eq!(Occupant::of(own).unwrap(), None);
        let mapped = maps::executable(own).unwrap();
        let file = mapped.iter().find(|mapped| mapped.inode != 0).map(|file| (file.device, file.inode));
        assert!(lives(own, file.unwrap()));
        assert!(!lives(own, (0, u64::MAX)));
        assert!(!lives(i32::MAX, file.unwrap()));
    }
}
