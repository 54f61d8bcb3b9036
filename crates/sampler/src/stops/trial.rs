//! What a stop costs here and now, found out on a process of our own.

use super::SOON;
use crate::core_clock::run_chain;
use std::io;
use std::time::{Duration, Instant};
use timewise_target::halt::{Found, Halt};

/// Stops of which one of the quickest quarter counts: others waited for a processor.
const STOPS: usize = 21;
/// Between them.
const PAUSE: Duration = Duration::from_micros(500);
/// On a machine that has no processor free, fewer must do.
const PATIENCE: Duration = Duration::from_millis(100);

/// From asking a busy thread to stop until it is let go of. Takes about 20 ms.
///
/// # Errors
/// The system's, if it does not let us stop our own children.
pub fn cost_of_stop() -> io::Result<Duration> {
    let busy = Busy::start()?;
    let begun = Instant::now();
    let mut took = Vec::new();
    while took.is_empty() || (took.len() < STOPS && begun.elapsed() < PATIENCE) {
        std::thread::sleep(PAUSE);
        let asked = Instant::now();
        let mut found = Halt::ask(busy.0, busy.0, busy.0)?.poll();
        while let Found::Pending(halt) = found {
            match asked.elapsed() < SOON {
                true => std::thread::yield_now(),
                false => std::thread::sleep(SOON),
            }
            found = halt.poll();
        }
        if let Found::Stopped(held) = found {
            // It is our own child, whose end is ours to take note of.
            let _ = held.release();
            took.push(asked.elapsed());
        }
    }
    took.sort();
    Ok(took[took.len() / 4])
}

/// A child that computes until it is dropped.
struct Busy(libc::pid_t);

impl Busy {
    fn start() -> io::Result<Busy> {
        // SAFETY: the child makes a system call without memory and computes in registers, which is allowed after
        // a fork of several threads; it never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // SAFETY: as above.
                unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
                loop {
                    run_chain(1000);
                }
            }
            pid => Ok(Busy(pid)),
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // SAFETY: these pass no memory but an optional result that is not wanted; the process is our child.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), libc::__WALL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_takes_microseconds() {
        let cost = cost_of_stop().unwrap();
        // On a crowded machine, the time until the thread has its turn besides.
        assert!((Duration::from_micros(1)..Duration::from_secs(5)).contains(&cost), "{cost:?}");
    }
}
