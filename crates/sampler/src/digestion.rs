//! Records are digested in a thread of their own, so that what takes long there, reading a library's unwind
//! table or following a deep stack, never keeps the buffers from being emptied.

use crate::collector::Collector;
use crate::record::{Record, Stamped};
use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Batches that may wait; further ones are held together until one is taken.
const WAITING: usize = 1;

/// Bytes that may be held: two seconds of copied stacks, as a busy machine may take as long to read the first library's
/// unwind table. With more the buffers wait too: then samples are lost and counted, and memory stays bounded.
const MOST_HELD: usize = 128 << 20;

/// The thread that digests.
#[derive(Debug)]
pub struct Digestion {
    batches: SyncSender<Vec<Stamped>>,
    /// What is to be handed over next.
    held: Vec<Stamped>,
    held_bytes: usize,
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
        Ok(Digestion { batches, held: Vec::new(), held_bytes: 0, thread })
    }

    /// Hands over records in order of time.
    pub fn take(&mut self, batch: Vec<Stamped>) {
        self.held_bytes += batch.iter().map(bytes).sum::<usize>();
        self.held.extend(batch);
        if self.held.is_empty() {
            return;
        }
        match self.batches.try_send(std::mem::take(&mut self.held)) {
            Err(TrySendError::Full(held)) if self.held_bytes < MOST_HELD => self.held = held,
            Err(TrySendError::Full(held)) => self.send(held),
            // The thread only ends early if it panics, which `finish` passes on.
            Ok(()) | Err(TrySendError::Disconnected(_)) => self.held_bytes = 0,
        }
    }

    /// Waits until it is taken.
    fn send(&mut self, batch: Vec<Stamped>) {
        let _taken = self.batches.send(batch);
        self.held_bytes = 0;
    }

    /// Waits until all records are digested.
    pub fn finish(mut self) -> Collector {
        let held = std::mem::take(&mut self.held);
        self.send(held);
        drop(self.batches);
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// What a record takes, its copied stack above all.
fn bytes(stamped: &Stamped) -> usize {
    let stack = match &stamped.record {
        Record::Sample(raw) | Record::Leaving(raw) => {
            raw.user_stack.as_ref().map_or(0, |stack| stack.bytes.len())
        }
        _ => 0,
    };
    size_of::<Stamped>() + stack
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reading the first tables may take seconds on a busy machine.
    #[test]
    fn nobody_waits_for_what_takes_long() {
        let (batches, waiting) = sync_channel(WAITING);
        let idle = || Collector::of_strangers(1);
        let thread = Builder::new().spawn(idle).unwrap();
        let mut digestion = Digestion { batches, held: Vec::new(), held_bytes: 0, thread };
        let many = 10 * WAITING as u64;
        for time_ns in 0..many {
            digestion.take(vec![Stamped { time_ns, record: Record::Throttled }]);
        }
        assert!(digestion.held_bytes > 0);
        let taken = Builder::new().spawn(|| waiting.into_iter().flatten().collect::<Vec<_>>()).unwrap();
        digestion.finish();
        let times: Vec<u64> = taken.join().unwrap().iter().map(|stamped| stamped.time_ns).collect();
        assert_eq!(times, (0..many).collect::<Vec<_>>());
    }
}
