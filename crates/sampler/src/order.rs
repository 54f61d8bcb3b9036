//! Records of several rings in one order of time.
//!
//! Each ring is nearly sorted; across rings a mapping and the samples in it can arrive the wrong
//! way round. A record waits until nothing older can still be on its way.

use crate::record::Stamped;

/// Between taking its time and being visible in its ring, a record can be held up, in a guest for
/// as long as its virtual processor is not scheduled.
const LONGEST_DELAY_NS: u64 = 30_000_000;

/// Records that wait for their turn.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: Vec<Stamped>,
}

impl Queue {
    /// Adds a record.
    pub fn push(&mut self, stamped: Stamped) {
        self.waiting.push(stamped);
    }

    /// Hands out, oldest first, what is final at `now_ns`, when all rings were found empty.
    pub fn release(&mut self, now_ns: u64) -> Vec<Stamped> {
        self.release_up_to(now_ns.saturating_sub(LONGEST_DELAY_NS))
    }

    /// Hands out all that is left.
    pub fn release_all(&mut self) -> Vec<Stamped> {
        self.release_up_to(u64::MAX)
    }

    /// Hands out, oldest first, what is not younger than `limit_ns`.
    pub fn release_up_to(&mut self, limit_ns: u64) -> Vec<Stamped> {
        self.waiting.sort_by_key(|stamped| stamped.time_ns);
        let ready = self.waiting.partition_point(|stamped| stamped.time_ns <= limit_ns);
        self.waiting.drain(..ready).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    #[test]
    fn young_records_wait_for_older_ones() {
        let lost = |time_ns| Stamped { time_ns, record: Record::Lost { count: time_ns } };
        let mut queue = Queue::default();
        let times =
            |released: Vec<Stamped>| -> Vec<u64> { released.iter().map(|stamped| stamped.time_ns).collect() };
        let second = 1_000_000_000;
        queue.push(lost(second));
        queue.push(lost(second - LONGEST_DELAY_NS));
        assert_eq!(times(queue.release(second)), [second - LONGEST_DELAY_NS]);
        queue.push(lost(second - 1));
        assert_eq!(times(queue.release_all()), [second - 1, second]);
    }
}
