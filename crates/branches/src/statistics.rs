//! What tracing came to, and what it took.

use timewise_abi::tracing::{ENDS, End};

/// Sums over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Slots that threads used: several threads may have used one in turn.
    pub threads: u64,
    /// Samples that began a trace.
    pub begun: u64,
    /// Samples for which there was no room.
    pub lost: u64,
    /// Traces that gave branches.
    pub traces: u64,
    /// Taken branches recorded.
    pub branches: u64,
    /// Branches decided, taken or not.
    pub decided: u64,
    /// Those of them that algorithm 1 of Break Dancing sets a breakpoint for: all but direct jumps and calls.
    pub conditional: u64,
    /// Breakpoints reached.
    pub hits: u64,
    /// Breakpoints set or moved.
    pub moves: u64,
    /// Why traces ended, by [`End`].
    pub ends: [u64; ENDS],
    /// Recorded branches that start or end outside of all known modules, and are left out.
    pub unplaced: u64,
    /// Threads that found no slot, each time that they looked for one.
    pub turned_away: u64,
}

impl Statistics {
    /// How many traces ended in this way.
    pub fn ended(&self, end: End) -> u64 {
        self.ends[end as usize]
    }
}

impl std::ops::AddAssign for Statistics {
    fn add_assign(&mut self, other: Statistics) {
        let Statistics {
            threads,
            begun,
            lost,
            traces,
            branches,
            decided,
            conditional,
            hits,
            moves,
            ends,
            unplaced,
            turned_away,
        } = other;
        self.threads += threads;
        self.begun += begun;
        self.lost += lost;
        self.traces += traces;
        self.branches += branches;
        self.decided += decided;
        self.conditional += conditional;
        self.hits += hits;
        self.moves += moves;
        self.ends.iter_mut().zip(ends).for_each(|(sum, ends)| *sum += ends);
        self.unplaced += unplaced;
        self.turned_away += turned_away;
    }
}
