//! Something done again and again beside the work, until it is dropped.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Ends what it does when it is dropped.
pub struct Ticker(Option<(Sender<()>, JoinHandle<()>)>);

impl Ticker {
    /// Does `tick` after each `pause`. Where the system has no thread left for it, nothing.
    pub fn start(pause: Duration, mut tick: impl FnMut() + Send + 'static) -> Ticker {
        let (stop, stopped) = channel();
        let run = move || {
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
        };
        Ticker(thread::Builder::new().spawn(run).ok().map(|thread| (stop, thread)))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}
