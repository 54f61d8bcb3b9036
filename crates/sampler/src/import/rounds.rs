//! Records in order of time.
//!
//! `perf` empties the rings of all processors in rounds. What one round leaves behind is older than all that
//! the round after the next will bring.

use crate::order::Queue;
use crate::record::{RawSample, Record, Stamped};
use timewise_callers::UserStack;

/// Records that wait for their turn.
#[derive(Debug, Default)]
pub struct Rounds {
    waiting: Queue,
    /// Memory that they take.
    bytes: usize,
    /// The latest time of the rounds before this one.
    settled_ns: u64,
    latest_ns: u64,
}

/// A file whose rounds were never finished would be held in memory as a whole. Rounds of `perf` are seldom so
/// large: each is what fits in its rings.
const MOST_BYTES: usize = 256 << 20;

impl Rounds {
    /// Adds a record.
    pub fn push(&mut self, stamped: Stamped) {
        self.latest_ns = self.latest_ns.max(stamped.time_ns);
        self.bytes += bytes_of(&stamped);
        self.waiting.push(stamped);
    }

    /// Whether more wait than can be in order.
    pub fn is_full(&self) -> bool {
        self.bytes >= MOST_BYTES
    }

    /// A round is over: hands out what is final, oldest first.
    pub fn finish(&mut self) -> Vec<Stamped> {
        let settled_ns = std::mem::replace(&mut self.settled_ns, self.latest_ns);
        let released = self.waiting.release_up_to(settled_ns);
        self.bytes -= released.iter().map(bytes_of).sum::<usize>();
        released
    }

    /// Hands out all that is left.
    pub fn finish_all(&mut self) -> Vec<Stamped> {
        self.bytes = 0;
        self.waiting.release_all()
    }
}

/// Memory that a record takes: copies of stacks are most of it.
fn bytes_of(stamped: &Stamped) -> usize {
    let owned = match &stamped.record {
        Record::Sample(RawSample { kernel_callers, user_callers, user_stack, .. }) => {
            let stack = user_stack.as_ref().map_or(0, |stack| size_of::<UserStack>() + stack.bytes.len());
            size_of_val(&kernel_callers[..]) + size_of_val(&user_callers[..]) + stack
        }
        Record::Mapping(mapping) => mapping.path.len(),
        _ => 0,
    };
    size_of::<Stamped>() + owned
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_image::Registers;

    #[test]
    fn a_record_waits_for_two_rounds() {
        let mut rounds = Rounds::default();
        let mut out = Vec::new();
        for (round, expected) in
            [(&[1, 4, 2][..], &[][..]), (&[3, 7], &[1, 2, 3, 4]), (&[5, 9], &[1, 2, 3, 4, 5, 7])]
        {
            round.iter().for_each(|&time_ns| rounds.push(Stamped { time_ns, record: Record::Throttled }));
            out.extend(rounds.finish().iter().map(|stamped| stamped.time_ns));
            assert_eq!(out, expected);
        }
        out.extend(rounds.finish_all().iter().map(|stamped| stamped.time_ns));
        assert_eq!(out, [1, 2, 3, 4, 5, 7, 9]);
    }

    #[test]
    fn copies_of_stacks_count() {
        const STACK: usize = 60 << 10;
        let sample = || {
            let registers = Registers::new(0, [0; 16]);
            let user_stack = Some(Box::new(UserStack { registers, bytes: vec![0; STACK].into() }));
            Record::Sample(RawSample { user_stack, ..RawSample::in_kernel(1, 1) })
        };
        let mut rounds = Rounds::default();
        let mut pushed = 0;
        while !rounds.is_full() {
            rounds.push(Stamped { time_ns: 1, record: sample() });
            pushed += 1;
        }
        assert!((MOST_BYTES / STACK).abs_diff(pushed) < pushed / 50, "{pushed}");
        // Two rounds later all are out, and a small one does not fill it.
        assert_eq!((rounds.finish().len(), rounds.finish().len()), (0, pushed));
        rounds.push(Stamped { time_ns: 2, record: Record::Throttled });
        assert!(!rounds.is_full());
    }
}
