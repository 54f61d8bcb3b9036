//! Entries of queues and buffers: how long one has to wait for a free one.

/// Entries that are freed in the order in which they were taken: of the reorder buffer, of load and store
/// queues, registers in flight.
#[derive(Debug)]
pub struct InOrder {
    /// When each of the latest takers frees its entry.
    freed: Vec<u64>,
    next: usize,
}

impl InOrder {
    /// So many entries.
    pub fn new(entries: usize) -> InOrder {
        InOrder { freed: vec![0; entries], next: 0 }
    }

    /// The first cycle in which there is an entry for the next taker.
    #[inline]
    pub fn free_at(&self) -> u64 {
        self.freed[self.next]
    }

    /// Takes the entry, to be free again from this cycle on.
    #[inline]
    pub fn take(&mut self, freed: u64) {
        self.freed[self.next] = freed;
        self.next += 1;
        if self.next == self.freed.len() {
            self.next = 0;
        }
    }
}

/// Entries that are freed in any order: of a scheduler.
#[derive(Debug)]
pub struct OutOfOrder {
    /// A heap, the earliest on top, of when each entry is freed.
    freed: Vec<u64>,
}

impl OutOfOrder {
    /// So many entries.
    pub fn new(entries: usize) -> OutOfOrder {
        OutOfOrder { freed: vec![0; entries] }
    }

    /// The first cycle in which there is an entry for the next taker.
    #[inline]
    pub fn free_at(&self) -> u64 {
        self.freed[0]
    }

    /// Takes the entry that is free first, to be free again from this cycle on.
    #[inline]
    pub fn take(&mut self, freed: u64) {
        let heap = &mut self.freed[..];
        let mut at = 0;
        loop {
            let mut child = 2 * at + 1;
            if child >= heap.len() {
                break;
            }
            if child + 1 < heap.len() && heap[child + 1] < heap[child] {
                child += 1;
            }
            if heap[child] >= freed {
                break;
            }
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = freed;
    }
}

/// What is known of an entry.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    begin: u64,
    end: u64,
    before: u64,
}

/// Entries that are taken for spans of time which are not booked in the order of their beginnings: of miss
/// registers, page walkers.
#[derive(Debug)]
pub struct Spans {
    /// The latest span of each entry, and the end of the one before it.
    latest: Vec<Span>,
}

impl Spans {
    /// So many entries.
    pub fn new(entries: usize) -> Spans {
        Spans { latest: vec![Span::default(); entries] }
    }

    /// The first cycle from `from` on in which an entry is free for about `length` cycles, and which: after its
    /// latest span, or between that and the one before.
    #[inline]
    pub fn find(&self, from: u64, length: u64) -> (u64, usize) {
        let mut best = (u64::MAX, 0);
        for (entry, span) in self.latest.iter().enumerate() {
            if span.end <= from || span.before <= from && from + length <= span.begin {
                return (from, entry);
            }
            let between = from.max(span.before);
            let free = if between + length <= span.begin { between } else { span.end };
            if free < best.0 {
                best = (free, entry);
            }
        }
        best
    }

    /// Takes an entry.
    #[inline]
    pub fn take(&mut self, entry: usize, begin: u64, end: u64) {
        let span = &mut self.latest[entry];
        *span = match begin >= span.end {
            true => Span { begin, end, before: span.end },
            // Booked into the gap before the latest.
            false => Span { before: end, ..*span },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_waits_for_its_oldest() {
        let mut queue = InOrder::new(2);
        queue.take(10);
        queue.take(30);
        assert_eq!(queue.free_at(), 10);
        queue.take(40);
        assert_eq!(queue.free_at(), 30);
    }

    #[test]
    fn a_full_scheduler_waits_for_the_first_to_leave() {
        let mut scheduler = OutOfOrder::new(3);
        for freed in [30, 10, 20] {
            assert_eq!(scheduler.free_at(), 0);
            scheduler.take(freed);
        }
        let mut order = Vec::new();
        for _ in 0..3 {
            order.push(scheduler.free_at());
            scheduler.take(100);
        }
        assert_eq!(order, [10, 20, 30]);
    }

    #[test]
    fn spans_may_be_booked_before_others() {
        let mut registers = Spans::new(1);
        registers.take(0, 100, 200);
        assert_eq!(registers.find(20, 50), (20, 0));
        assert_eq!(registers.find(60, 50), (200, 0));
        registers.take(0, 20, 70);
        assert_eq!(registers.find(30, 20), (70, 0), "what is left of the gap");
        assert_eq!(registers.find(250, 50), (250, 0));
    }
}
