//! What the threads that a process makes did before a trace could begin in them.

use std::ops::AddAssign;

/// CPU time, as the system accounts it, of threads that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Threads {
    /// CPU time of all threads of the process, those that still run included, nanoseconds.
    pub cpu_ns: u64,
    /// So much of a thread's CPU time passes before a trace can begin in it, at least, nanoseconds.
    pub blind_ns: u64,
    /// Threads that the process made, and that have ended.
    pub made: u64,
    /// Those of them that ended before a trace could begin.
    pub untraced: u64,
    /// CPU time of all of them before a trace could begin, nanoseconds.
    pub unseen_ns: u64,
}

/// Unseen CPU time that is worth a word: more than what a single thread has.
const WORTH_TELLING_NS: u64 = 20_000_000;

/// The share of all, in per cent, likewise.
const WORTH_TELLING_PERCENT: u64 = 5;

impl Threads {
    /// Adds a thread that the process made and that has used so much.
    pub fn add(&mut self, used_ns: u64) {
        self.made += 1;
        self.untraced += u64::from(used_ns < self.blind_ns);
        self.unseen_ns += used_ns.min(self.blind_ns);
    }

    /// What a reader must know.
    pub fn doubt(&self) -> Option<String> {
        let Threads { cpu_ns, blind_ns, made, untraced, unseen_ns } = *self;
        let seconds = |ns: u64| ns as f64 / 1e9;
        let is_told = unseen_ns >= WORTH_TELLING_NS && unseen_ns * 100 > cpu_ns * WORTH_TELLING_PERCENT;
        is_told.then(|| {
            format!(
                "of {:.2} s of CPU time {:.2} s are in no trace: none begins in the first {:.1} ms of a thread that the \
                 program makes, and {untraced} of {made} threads ended sooner; timewise count leaves nothing out",
                seconds(cpu_ns),
                seconds(unseen_ns),
                blind_ns as f64 / 1e6
            )
        })
    }
}

impl AddAssign for Threads {
    fn add_assign(&mut self, other: Threads) {
        self.cpu_ns += other.cpu_ns;
        self.blind_ns = self.blind_ns.max(other.blind_ns);
        self.made += other.made;
        self.untraced += other.untraced;
        self.unseen_ns += other.unseen_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unseen_of_threads_is_told_if_it_is_much() {
        let mut threads = Threads { cpu_ns: 400_000_000, blind_ns: 15_000_000, ..Threads::default() };
        threads.add(15_000_000);
        assert_eq!((threads.doubt(), threads.untraced), (None, 0));
        for used_ns in [5_000_000, 300_000_000] {
            threads.add(used_ns);
        }
        let told = threads.doubt().unwrap();
        assert!(
            told.starts_with(
                "of 0.40 s of CPU time 0.04 s are in no trace: none begins in the first 15.0 ms"
            ),
            "{told}"
        );
        assert!(told.contains("1 of 3 threads ended sooner"), "{told}");
        let all = Threads { cpu_ns: 800_000_000, ..threads };
        assert_eq!(all.doubt(), None);
    }
}
