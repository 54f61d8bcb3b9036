//! What a stop costs here and now, found out on a process of our own.

use super::SOON;
use crate::core_clock::run_chain;
use std::io;
use std::time::{Duration, Instant};
use timewise_target::child::Child;
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
    let busy = busy()?;
    let begun = Instant::now();
    let mut took = Vec::new();
    while took.is_empty() || (took.len() < STOPS && begun.elapsed() < PATIENCE) {
        std::thread::sleep(PAUSE);
        let asked = Instant::now();
        let mut found = Halt::ask(busy.pid(), busy.pid(), busy.pid())?.poll();
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
fn busy() -> io::Result<Child> {
    let compute = || loop {
        run_chain(1000);
    };
    // SAFETY: it computes in registers.
    unsafe { Child::begin(compute) }
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
