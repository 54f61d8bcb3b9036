//! What timewise has put into a process already, and whether whoever did so still sees to it.

use std::io;
use std::mem::offset_of;
use timewise_abi::tracing::{self, TraceHeader};
use timewise_abi::{RESERVED_HIGH, SharedHeader};
use timewise_target::attachable::AttachError;
use timewise_target::{keeper, maps, memory};

/// What is in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// It is counted.
    Counting {
        /// What becomes of that.
        host: Host,
    },
    /// It is traced, or was when it was forked.
    Tracing {
        /// The process that is traced: of one that was forked from it, this is a copy.
        traced: i32,
        /// What becomes of that.
        host: Host,
    },
}

/// What whoever put it there does about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// The process with this id is about to take it out.
    Ending(i32),
    /// It still works with it.
    Works,
    /// It is gone.
    Gone,
}

impl Occupant {
    /// What is in process `pid`, if anything of ours is.
    ///
    /// # Errors
    /// The system's, if the process is gone or hidden.
    pub fn of(pid: i32) -> io::Result<Option<Occupant>> {
        let base = RESERVED_HIGH.start;
        let Some(file) = maps::file_at(pid, base)? else { return Ok(None) };
        let word = |offset: usize| memory::word(pid, base + offset as u64);
        let number = |offset| word(offset).map(|word| word as u32 as i32);
        Ok(match word(offset_of!(TraceHeader, magic)) {
            Some(tracing::MAGIC) => Some(Occupant::Tracing {
                traced: number(offset_of!(TraceHeader, pid)).unwrap_or_default(),
                host: Host::of(number(offset_of!(TraceHeader, host_pid)), file),
            }),
            Some(timewise_abi::MAGIC) => {
                let giver = number(offset_of!(SharedHeader, giver_pid));
                let host = match (number(offset_of!(SharedHeader, host_pid)), giver) {
                    // It follows the program no more.
                    (Some(0), Some(giver)) if lives(giver, file) => Host::Ending(giver),
                    (host, _) => Host::of(host, file),
                };
                Some(Occupant::Counting { host })
            }
            _ => None,
        })
    }

    /// Why process `pid`, in which it is, cannot be attached to.
    pub fn obstacle(self, pid: i32) -> AttachError {
        let why = match self {
            Occupant::Tracing { traced, host: Host::Ending(by) } if traced == pid => {
                return AttachError::BeingGivenBack { pid, by };
            }
            Occupant::Counting { host: Host::Ending(by) } => return AttachError::BeingGivenBack { pid, by },
            Occupant::Tracing { traced, host: Host::Works } if traced == pid => {
                "timewise traces it already; end that first".into()
            }
            Occupant::Counting { host: Host::Works } => "timewise counts it already; end that first".into(),
            Occupant::Counting { host: Host::Gone } => {
                "it runs under the count of a timewise that has ended, and does so until it ends itself; start it \
                 anew"
                    .into()
            }
            Occupant::Tracing { .. } => format!(
                "what it, or the process that it was forked from, was traced with is still in it; take it out: \
                 timewise branches --pid {pid} --for 1s"
            ),
        };
        AttachError::Unfit { pid, why }
    }

    /// Whether somebody sees to it who could be disturbed in that.
    pub(crate) fn is_seen_to(self, pid: i32) -> bool {
        match self {
            Occupant::Counting { host } => host != Host::Gone,
            Occupant::Tracing { traced, host } => traced == pid && host != Host::Gone,
        }
    }
}

impl Host {
    /// Of the process with this number, which has mapped this file if it is the host. If nobody may know, it is.
    fn of(pid: Option<i32>, file: (u64, u64)) -> Host {
        match pid {
            Some(pid) if !lives(pid, file) => Host::Gone,
            Some(pid) if keeper::is_orphan(pid) => Host::Ending(pid),
            _ => Host::Works,
        }
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
