//! The queue between one source of a trace and any number of workers, after TraceDoctor (thesis, paper C,
//! section 3).
//!
//! A fixed number of buffers goes round. The source fills one and gives it to one worker, who hands a counted
//! reference on to the next before looking at it, so that the source has one thread to wake however many
//! there are. Whoever gives back the last reference puts the buffer back among the free ones. A source that
//! finds none free waits: the slowest worker sets the pace, memory is constant, and nothing is lost. There is
//! no lock: a buffer is written by one thread, and not after it is shared.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use crate::{Observer, Record, Worker};

/// How much of a trace may lie between its source and the slowest worker.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Buffers that go round, at least 2: one is filled while another is read.
    pub buffers: usize,
    /// Items in each, at least 1.
    pub items: usize,
}

impl Default for Room {
    /// Buffers of 8,192 items are 768 KiB of records. With smaller ones the source spends its time on waking workers, which
    /// have long been asleep when a buffer is full: with 1,024 items it costs simulations up to a tenth, with 4,096 one or
    /// two parts in a hundred.
    fn default() -> Self {
        Self { buffers: 4, items: 8192 }
    }
}

/// The source's end of the queue: takes the items of a trace and gives them to all workers.
///
/// The trace ends when it is dropped.
pub struct Doctor<T> {
    filling: Vec<T>,
    items: usize,
    free: Receiver<Vec<T>>,
    give_back: Sender<Vec<T>>,
    /// To the worker that was seated last, who hands on to the one before.
    first: Option<Queue<T>>,
}

/// The way to a worker.
type Queue<T> = Sender<Arc<Vec<T>>>;

/// A worker's place at the queue: where its result is taken once the trace has ended.
pub struct Seat<W> {
    thread: JoinHandle<W>,
}

impl<W> Seat<W> {
    /// Waits until the worker has seen all of the trace, which must have ended, and gives it back.
    ///
    /// # Panics
    ///
    /// If the worker did.
    pub fn join(self) -> W {
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl<T: Copy + Send + Sync + 'static> Doctor<T> {
    /// A queue without workers.
    pub fn new(room: Room) -> Self {
        let (give_back, free) = channel();
        let items = room.items.max(1);
        for _ in 1..room.buffers.max(2) {
            // The receiver is alive in this very function.
            let _ = give_back.send(Vec::with_capacity(items));
        }
        Self { filling: Vec::with_capacity(items), items, free, give_back, first: None }
    }

    /// Seats a worker, on a thread of its own. It sees what is pushed from here on; attach before the
    /// first item.
    pub fn attach<W: Worker<T> + 'static>(&mut self, worker: W) -> Seat<W> {
        let (queue, parts) = channel();
        let next = self.first.replace(queue);
        let give_back = self.give_back.clone();
        Seat { thread: thread::spawn(move || work(worker, &parts, next.as_ref(), &give_back)) }
    }

    /// Adds items to the trace, and waits while no buffer is free for them.
    pub fn push(&mut self, mut items: &[T]) {
        while !items.is_empty() {
            if self.filling.len() == self.items {
                self.pass_on();
            }
            let (now, later) = items.split_at(items.len().min(self.items - self.filling.len()));
            self.filling.extend_from_slice(now);
            items = later;
        }
    }

    /// The latest item, unless it has been given to the workers.
    #[inline]
    pub fn latest(&mut self) -> Option<&mut T> {
        self.filling.last_mut()
    }

    /// Ends the trace: gives out the last buffer and lets the workers come to their end. So does dropping
    /// it.
    pub fn finish(self) {}

    /// Gives the buffer that is being filled to all workers, and takes a free one.
    #[cold]
    fn pass_on(&mut self) {
        // Among those that can give a buffer back is this very value: the channel never closes.
        let empty = self.free.recv().unwrap_or_default();
        self.share(empty);
    }
}

impl<T> Doctor<T> {
    fn share(&mut self, next: Vec<T>) {
        let full = Arc::new(std::mem::replace(&mut self.filling, next));
        hand_on(&full, self.first.as_ref());
        release(full, &self.give_back);
    }
}

impl<T> Drop for Doctor<T> {
    fn drop(&mut self) {
        if !self.filling.is_empty() {
            self.share(Vec::new());
        }
    }
}

/// The thread of a worker: all parts in their order. After a panic the parts still go round, so that
/// neither the source nor other workers wait for this one.
fn work<T, W: Worker<T>>(
    mut worker: W,
    parts: &Receiver<Arc<Vec<T>>>,
    next: Option<&Queue<T>>,
    give_back: &Sender<Vec<T>>,
) -> W {
    let mut panic = None;
    for part in parts {
        hand_on(&part, next);
        if panic.is_none() {
            panic = catch_unwind(AssertUnwindSafe(|| worker.take(&part))).err();
        }
        release(part, give_back);
    }
    match panic {
        Some(panic) => resume_unwind(panic),
        None => worker,
    }
}

/// Gives a worker, if there is one, a reference to a buffer.
fn hand_on<T>(part: &Arc<Vec<T>>, worker: Option<&Queue<T>>) {
    if let Some(queue) = worker {
        // Its thread takes buffers until the queue is closed, which is when its owner goes.
        let _ = queue.send(Arc::clone(part));
    }
}

/// Gives up a reference to a buffer, and puts the buffer back if it was the last.
fn release<T>(part: Arc<Vec<T>>, give_back: &Sender<Vec<T>>) {
    if let Some(mut buffer) = Arc::into_inner(part) {
        buffer.clear();
        // Without a source nobody needs the buffer any more.
        let _ = give_back.send(buffer);
    }
}

/// A [`Doctor`] for a core model: cycles that are alike take one place in the buffers.
pub struct Recorder {
    doctor: Doctor<Record>,
}

impl Recorder {
    /// Records go to the workers of this queue.
    pub fn new(doctor: Doctor<Record>) -> Self {
        Self { doctor }
    }

    /// Ends the trace, as dropping the recorder does.
    pub fn finish(self) {}
}

impl Observer for Recorder {
    fn observe(&mut self, records: &[Record]) {
        debug_assert!(records.iter().all(|record| record.check() == Ok(())));
        debug_assert!(records.windows(2).all(|pair| !pair[0].clone().absorb(&pair[1])), "alike in one call");
        let Some(first) = records.first() else { return };
        let is_alike = self.doctor.latest().is_some_and(|latest| latest.absorb(first));
        self.doctor.push(&records[usize::from(is_alike)..]);
    }
}
