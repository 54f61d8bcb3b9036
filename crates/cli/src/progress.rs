//! What we are doing, on a terminal only, and only while nothing else writes there.

use crate::talk;
use crate::ticker::Ticker;
use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Nobody needs to be told of what is over sooner.
const PATIENCE: Duration = Duration::from_millis(500);

/// Whether our line stands on the terminal.
static STANDS: AtomicBool = AtomicBool::new(false);

/// Erases the line when it is dropped.
pub struct Shown(Option<Ticker>);

/// Shows `what` and for how long it has been going on.
pub fn show(what: &'static str) -> Shown {
    show_until(what, None)
}

/// Likewise, and how long it is still likely to take, where something is `expected`.
pub fn show_until(what: &'static str, expected: Option<Duration>) -> Shown {
    let started = Instant::now();
    let write = move || {
        // A terminal that is gone is not worth an error.
        let _ = write!(stderr(), "\r\x1b[K{what} … {}", times(started.elapsed(), expected));
        STANDS.store(true, Ordering::SeqCst);
    };
    let is_wanted = stderr().is_terminal() && !talk::is_quiet();
    Shown(is_wanted.then(|| Ticker::start(PATIENCE, write)))
}

/// How long something has taken, and what is left of what it was expected to take.
fn times(elapsed: Duration, expected: Option<Duration>) -> String {
    let left = expected.and_then(|expected| expected.checked_sub(elapsed));
    match left.map(|left| left.as_secs_f64().round() as u64) {
        Some(left) if left > 0 => format!("{} s, about {left} s left", elapsed.as_secs()),
        _ => format!("{} s", elapsed.as_secs()),
    }
}

/// Makes room for something else on the terminal.
pub fn erase() {
    if STANDS.swap(false, Ordering::SeqCst) {
        let _ = write!(stderr(), "\r\x1b[K");
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        drop(self.0.take());
        erase();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_while_something_is() {
        let seconds = Duration::from_secs;
        assert_eq!(times(seconds(2), None), "2 s");
        assert_eq!(times(seconds(2), Some(seconds(7))), "2 s, about 5 s left");
        assert_eq!(times(seconds(9), Some(seconds(7))), "9 s");
    }
}
