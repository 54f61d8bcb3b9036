//! What we are doing, on a terminal only, and only while nothing else writes there.

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
    let started = Instant::now();
    let write = move || {
        // A terminal that is gone is not worth an error.
        let _ = write!(stderr(), "\r{what} … {} s", started.elapsed().as_secs());
        STANDS.store(true, Ordering::SeqCst);
    };
    Shown(stderr().is_terminal().then(|| Ticker::start(PATIENCE, write)))
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
