//! What tracing came to, and what it took.

use std::io;
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
    /// Branches decided, taken or not, that algorithm 1 of Break Dancing sets a breakpoint for: all but direct jumps and
    /// calls.
    pub conditional: u64,
    /// Breakpoints reached.
    pub hits: u64,
    /// Why traces ended, by [`End`].
    pub ends: [u64; ENDS],
    /// Recorded branches that start or end outside of all known modules, and are left out.
    pub unplaced: u64,
    /// Threads that found no slot, each time that they looked for one.
    pub turned_away: u64,
    /// Rings that made no sense, because the program wrote there.
    pub senseless: u64,
    /// The system's error number when it last refused events to a thread, 0 if it never did.
    pub refusal: u32,
}

impl Statistics {
    /// How many traces ended in this way.
    pub fn ended(&self, end: End) -> u64 {
        self.ends[end as usize]
    }

    /// What a reader must know.
    pub fn doubts(&self) -> Vec<String> {
        let Statistics { begun, lost, unplaced, branches, turned_away, senseless, refusal, .. } = *self;
        let [refused, unreadable, otherwise] =
            [End::Refused, End::Unreadable, End::Otherwise].map(|end| self.ended(end));
        let why = io::Error::from_raw_os_error(refusal as i32);
        let doubts = [
            (
                senseless > 0,
                format!(
                    "the program wrote into the memory of the tracer: traces were given up {senseless} times"
                ),
            ),
            (lost > 0, format!("{lost} samples gave no trace, because earlier ones had not been collected")),
            (
                unplaced > 0,
                format!(
                    "{unplaced} of {branches} branches are left out: they lie in code that was gone or unknown"
                ),
            ),
            (turned_away > 0, "more threads at once than can be traced: some were left out".to_string()),
            (
                refusal > 0,
                format!("the system refused events to a thread: {why}; {refused} traces ended there"),
            ),
            (
                otherwise > 0,
                format!(
                    "{otherwise} traces ended because the program went on otherwise than what was evaluated ahead"
                ),
            ),
            (
                unreadable * 10 > begun,
                format!("{unreadable} of {begun} traces ended at code or memory that could not be read"),
            ),
        ];
        doubts.into_iter().filter_map(|(is_so, words)| is_so.then_some(words)).collect()
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
            conditional,
            hits,
            ends,
            unplaced,
            turned_away,
            senseless,
            refusal,
        } = other;
        self.threads += threads;
        self.begun += begun;
        self.lost += lost;
        self.traces += traces;
        self.branches += branches;
        self.conditional += conditional;
        self.hits += hits;
        self.ends.iter_mut().zip(ends).for_each(|(sum, ends)| *sum += ends);
        self.unplaced += unplaced;
        self.turned_away += turned_away;
        self.senseless += senseless;
        self.refusal = self.refusal.max(refusal);
    }
}
