//! What recording a system call costs here and now, found out on a process of our own.

use crate::recorder::Recorder;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;
use timewise_target::child::Child;
use timewise_target::group::apart;
use timewise_target::{cpu_time::monotonic_ns, tracees};

/// Calls in a row, which are timed together.
const CALLS: u64 = 25;
/// Rows, of which one of the quickest quarter counts: others waited for a processor.
const ROWS: usize = 40;

/// What a call that does next to nothing takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// Natively.
    pub native: Duration,
    /// While it is recorded.
    pub recorded: Duration,
}

impl Price {
    /// By how much longer it takes.
    pub fn added(self) -> Duration {
        self.recorded.saturating_sub(self.native)
    }

    /// The one of two that adds less.
    pub fn lower(self, other: Price) -> Price {
        if self.added() <= other.added() { self } else { other }
    }
}

/// Has a child of ours call the system natively, and recorded, with call stacks if `stacks` says so. Takes some 10 ms.
///
/// # Errors
/// The system's, if it does not let us trace our own children.
pub fn price(stacks: bool) -> io::Result<Price> {
    apart(|| {
        let (told, tells) = io::pipe()?;
        let (waits, go) = io::pipe()?;
        let (mut told, mut go) = (File::from(OwnedFd::from(told)), File::from(OwnedFd::from(go)));
        let caller = caller(tells.into(), waits.into())?;
        let native = quick(&mut told)?;
        tracees::seize(caller.pid())?;
        go.write_all(&[0])?;
        let mut recorder = Recorder::new(caller.pid(), CALLS as usize * (ROWS + 1), stacks);
        await_first_stop()?;
        recorder.follow(caller.pid())?;
        // It has ended, and we took note of that.
        caller.has_ended();
        Ok(Price { native, recorded: quick(&mut told)? })
    })
}

fn await_first_stop() -> io::Result<()> {
    tracees::next()?.map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// What a call took, of one of the quickest quarter.
fn quick(told: &mut File) -> io::Result<Duration> {
    let mut rows = [[0; size_of::<u64>()]; ROWS];
    told.read_exact(rows.as_flattened_mut())?;
    let mut rows = rows.map(u64::from_ne_bytes);
    rows.sort_unstable();
    Ok(Duration::from_nanos(rows[ROWS / 4] / CALLS))
}

/// A child that calls the system, says what it took, waits, calls again, and ends.
fn caller(tells: OwnedFd, waits: OwnedFd) -> io::Result<Child> {
    let call = || {
        call_and_tell(&tells);
        let mut byte = 0_u8;
        // SAFETY: fills one byte that is there.
        unsafe { libc::read(waits.as_raw_fd(), (&raw mut byte).cast(), 1) };
        call_and_tell(&tells);
    };
    // SAFETY: these are system calls.
    unsafe { Child::begin(call) }
}

/// Without memory of its own, as other threads may have been at it when the process was forked.
fn call_and_tell(tells: &OwnedFd) {
    let mut rows = [0_u64; ROWS];
    for row in &mut rows {
        let begun = monotonic_ns();
        for _ in 0..CALLS {
            // SAFETY: takes no memory.
            unsafe { libc::syscall(libc::SYS_getppid) };
        }
        *row = monotonic_ns() - begun;
    }
    // SAFETY: reads the bytes of a live array.
    unsafe { libc::write(tells.as_raw_fd(), rows.as_ptr().cast(), size_of_val(&rows)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recording_costs_more_than_nothing() {
        let price = price(false).unwrap();
        assert!(price.native > Duration::ZERO && price.recorded > price.native, "{price:?}");
    }
}
