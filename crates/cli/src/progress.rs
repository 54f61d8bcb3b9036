//! What we are doing, on a terminal only, and only while nothing else writes there.

use std::io::{IsTerminal, Write, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Nobody needs to be told of what is over sooner.
const PATIENCE: Duration = Duration::from_millis(500);

/// Erases the line that it wrote when it is dropped.
pub struct Shown(Option<(Sender<()>, JoinHandle<()>)>);

/// Shows `what` and for how long it has been going on.
pub fn show(what: &'static str) -> Shown {
    if !stderr().is_terminal() {
        return Shown(None);
    }
    let (stop, stopped) = channel();
    let started = Instant::now();
    let write = move || {
        let mut written = false;
        while stopped.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            // A terminal that is gone is not worth an error.
            let _ = write!(stderr(), "\r{what} … {} s", started.elapsed().as_secs());
            written = true;
        }
        if written {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    };
    Shown(Some((stop, thread::spawn(write))))
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}
