//! A trace as it is taken out of a ring.

use crate::clock::Clock;
use timewise_abi::tracing::{Effort, TIME_MARK};

/// The branches of a thread, one behind the other.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// What it takes of the processor.
    pub effort: Effort,
    /// Where each branch came from and led to.
    pub branches: Vec<[u64; 2]>,
    /// From which branch on what was found at which time; the first is from 0 on.
    parts: Vec<(usize, u64)>,
}

impl Trace {
    /// One that began at `time`, from what stands in the ring.
    pub fn new(effort: Effort, time: u64, pairs: impl Iterator<Item = [u64; 2]>) -> Trace {
        let mut trace = Trace { effort, branches: Vec::new(), parts: vec![(0, time)] };
        for pair in pairs {
            match pair {
                [TIME_MARK, time] => trace.parts.push((trace.branches.len(), time)),
                branch => trace.branches.push(branch),
            }
        }
        trace
    }

    /// Takes its times for ticks of the processor, and makes nanoseconds of the monotonic clock of them.
    pub fn set_times(&mut self, clock: &Clock) {
        for (_, time) in &mut self.parts {
            *time = clock.time_ns(*time);
        }
    }

    /// When it began.
    pub fn began(&self) -> u64 {
        self.parts.first().map_or(0, |&(_, time)| time)
    }

    /// When each branch was found, and where from and where to.
    pub fn timed(&self) -> impl Iterator<Item = (u64, [u64; 2])> {
        let ends = self.parts.iter().skip(1).map(|&(first, _)| first).chain([self.branches.len()]);
        let parts = self.parts.iter().zip(ends);
        parts
            .flat_map(|(&(first, time), end)| self.branches[first..end].iter().map(move |&pair| (time, pair)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_tell_when_what_follows_was_found() {
        let pairs = [[1, 2], [3, 4], [TIME_MARK, 70], [5, 6], [TIME_MARK, 90]];
        let trace = Trace::new(Effort::default(), 50, pairs.into_iter());
        assert_eq!(trace.branches, [[1, 2], [3, 4], [5, 6]]);
        let timed: Vec<(u64, [u64; 2])> = trace.timed().collect();
        assert_eq!(timed, [(50, [1, 2]), (50, [3, 4]), (70, [5, 6])]);
    }
}
