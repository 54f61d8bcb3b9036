//! Records are digested in a thread of their own, so that what takes long there, reading a library's unwind
//! table or following a deep stack, never keeps the buffers from being emptied.

use crate::collector::Collector;
use crate::record::Stamped;
use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Batches that may wait. With this many underway the buffers wait too: then samples are lost and counted, and
/// memory stays bounded.
const WAITING: usize = 8;

/// The thread that digests.
#[derive(Debug)]
pub struct Digestion {
    batches: SyncSender<Vec<Stamped>>,
    thread: JoinHandle<Collector>,
}

impl Digestion {
    /// Starts the thread, which gives all records that it is given to `collector`.
    ///
    /// # Errors
    /// The system's, if there can be no further thread.
    pub fn start(mut collector: Collector) -> io::Result<Digestion> {
        let (batches, waiting) = sync_channel::<Vec<Stamped>>(WAITING);
        let thread = Builder::new().name("samples".into()).spawn(move || {
            for Stamped { time_ns, record } in waiting.into_iter().flatten() {
                collector.take(time_ns, record);
            }
            collector
        })?;
        Ok(Digestion { batches, thread })
    }

    /// Hands over records in order of time.
    pub fn take(&self, batch: Vec<Stamped>) {
        // The thread only ends early if it panics, which `finish` passes on.
        if !batch.is_empty() {
            let _taken = self.batches.send(batch);
        }
    }

    /// Waits until all records are digested.
    pub fn finish(self) -> Collector {
        drop(self.batches);
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}
