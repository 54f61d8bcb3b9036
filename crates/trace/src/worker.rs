//! What is done with a trace: the face of everything that looks at records.

/// Something that looks at a trace, all of it and in order.
///
/// A worker has the trace to itself: it sees every buffer in the order in which they were filled, whatever
/// the other workers do, and shares no state with them. So its result is the same with one worker or
/// many, and on one thread or many.
pub trait Worker<T>: Send {
    /// Takes the next part of the trace. Where it is cut says nothing about what it holds.
    fn take(&mut self, part: &[T]);
}

impl<T, W: Worker<T> + ?Sized> Worker<T> for Box<W> {
    fn take(&mut self, part: &[T]) {
        (**self).take(part);
    }
}

/// A worker, or none.
impl<T, W: Worker<T>> Worker<T> for Option<W> {
    fn take(&mut self, part: &[T]) {
        if let Some(worker) = self {
            worker.take(part);
        }
    }
}

/// Workers that share a thread: each takes a part before the next part comes, while the processor's
/// caches hold it.
impl<T, W: Worker<T>> Worker<T> for Vec<W> {
    fn take(&mut self, part: &[T]) {
        for worker in self {
            worker.take(part);
        }
    }
}

impl<T, A: Worker<T>, B: Worker<T>> Worker<T> for (A, B) {
    fn take(&mut self, part: &[T]) {
        self.0.take(part);
        self.1.take(part);
    }
}
