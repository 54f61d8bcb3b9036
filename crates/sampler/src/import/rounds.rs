//! Records in order of time.
//!
//! `perf` empties the rings of all processors in rounds. What one round leaves behind is older than all that
//! the round after the next will bring.

use crate::order::Queue;
use crate::record::Stamped;

/// Records that wait for their turn.
#[derive(Debug, Default)]
pub struct Rounds {
    waiting: Queue,
    /// The latest time of the rounds before this one.
    settled_ns: u64,
    latest_ns: u64,
}

/// A file whose rounds were never finished would be held in memory as a whole. No round of `perf` is so
/// large: it is what fits in its rings.
const MOST_WAITING: usize = 4_000_000;

impl Rounds {
    /// Adds a record.
    pub fn push(&mut self, stamped: Stamped) {
        self.latest_ns = self.latest_ns.max(stamped.time_ns);
        self.waiting.push(stamped);
    }

    /// Whether more wait than can be in order.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= MOST_WAITING
    }

    /// A round is over: hands out what is final, oldest first.
    pub fn finish(&mut self) -> Vec<Stamped> {
        let settled_ns = std::mem::replace(&mut self.settled_ns, self.latest_ns);
        self.waiting.release_up_to(settled_ns)
    }

    /// Hands out all that is left.
    pub fn finish_all(&mut self) -> Vec<Stamped> {
        self.waiting.release_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

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
}
