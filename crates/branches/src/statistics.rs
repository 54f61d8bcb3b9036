//! What tracing came to, and what it took.

use crate::threads::Threads;
use std::io;
use timewise_abi::tracing::{ENDS, End, SLOTS};

/// Sums over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Slots that threads used: several threads may have used one in turn.
    pub threads: u64,
    /// Samples that began a trace.
    pub begun: u64,
    /// Samples for which there was no room.
    pub lost: u64,
    /// Samples that came at a tick of the kernel's timer for which they had waited.
    pub at_ticks: u64,
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
    /// CPU time that passed between traces, as samples tell: each stands for a period, nanoseconds.
    pub between_ns: u64,
    /// What threads that the program made did before traces could begin in them; of those that were traced to their end.
    pub threads_made: Threads,
    /// Processes whose tracing ended where they restricted their system calls.
    pub restricted: u64,
}

/// Samples from which it is known how much time passes between traces, to a few per cent.
const ENOUGH_SAMPLES: u64 = 100;

/// What a reader must know where tracing ended early.
const RESTRICTED: &str = "tracing ended where the program restricted its system calls (seccomp, or no_new_privs, which \
     comes before it) or had them come to itself (PR_SET_SYSCALL_USER_DISPATCH): it would have been ended for the \
     tracer's; what it did from there on is missing";

impl Statistics {
    /// How many traces ended in this way.
    pub fn ended(&self, end: End) -> u64 {
        self.ends[end as usize]
    }

    /// What a reader must know of a program that took `kernel_ns` in the kernel, where no trace begins.
    pub fn doubts(&self, kernel_ns: u64) -> Vec<String> {
        let Statistics {
            begun,
            lost,
            at_ticks,
            unplaced,
            branches,
            turned_away,
            senseless,
            refusal,
            restricted,
            ..
        } = *self;
        let [refused, unreadable, otherwise] =
            [End::Refused, End::Unreadable, End::Otherwise].map(|end| self.ended(end));
        let why = io::Error::from_raw_os_error(refusal as i32);
        let doubts = [
            (restricted > 0, RESTRICTED.to_string()),
            (
                senseless > 0,
                format!(
                    "traces given up because the program wrote into the memory of the tracer: {senseless}"
                ),
            ),
            (
                lost > 0,
                format!("samples without a trace, because earlier ones had not been collected: {lost}"),
            ),
            (
                at_ticks > 0,
                format!(
                    "{at_ticks} of {begun} traces started at ticks of the kernel's timer: of what the program does in step \
                     with the clock, handlers of timers above all, shares may be far off"
                ),
            ),
            (
                unplaced > 0,
                format!(
                    "{unplaced} of {branches} branches are left out: they lie in code that was gone or unknown"
                ),
            ),
            (
                turned_away > 0,
                format!(
                    "threads were left out: more than {SLOTS} at once, or as many mappings in the program as \
                     vm.max_map_count allows"
                ),
            ),
            (
                refusal > 0,
                format!("the system refused events to a thread: {why}; traces that ended there: {refused}"),
            ),
            (
                otherwise > 0,
                format!(
                    "traces that ended because the program went on otherwise than was evaluated ahead: {otherwise}"
                ),
            ),
            (
                unreadable * 10 > begun,
                format!("{unreadable} of {begun} traces ended at code or memory that could not be read"),
            ),
        ];
        let doubts = doubts.into_iter().filter_map(|(is_so, words)| is_so.then_some(words));
        doubts.chain(self.threads_made.doubt()).chain(self.burden(kernel_ns)).collect()
    }

    /// That most of the time went on tracing itself, if so.
    fn burden(&self, kernel_ns: u64) -> Option<String> {
        let Threads { cpu_ns, unseen_ns, .. } = self.threads_made;
        let user_ns = cpu_ns.saturating_sub(unseen_ns).saturating_sub(kernel_ns);
        let is_most = self.begun >= ENOUGH_SAMPLES && user_ns / 2 > self.between_ns;
        let seconds = |ns: u64| ns as f64 / 1e9;
        is_most.then(|| {
            format!(
                "tracing took most of the time: of {:.2} s of CPU time in user mode some {:.2} s passed between traces; \
                 shorter or fewer ones (--length, -F) take less, and timewise count may, which counts all branches",
                seconds(user_ns),
                seconds(self.between_ns)
            )
        })
    }
}

impl std::ops::AddAssign for Statistics {
    fn add_assign(&mut self, other: Statistics) {
        let Statistics {
            threads,
            begun,
            lost,
            at_ticks,
            traces,
            branches,
            conditional,
            hits,
            ends,
            unplaced,
            turned_away,
            senseless,
            refusal,
            between_ns,
            threads_made,
            restricted,
        } = other;
        self.threads += threads;
        self.begun += begun;
        self.lost += lost;
        self.at_ticks += at_ticks;
        self.traces += traces;
        self.branches += branches;
        self.conditional += conditional;
        self.hits += hits;
        self.ends.iter_mut().zip(ends).for_each(|(sum, ends)| *sum += ends);
        self.unplaced += unplaced;
        self.turned_away += turned_away;
        self.senseless += senseless;
        self.refusal = self.refusal.max(refusal);
        self.between_ns += between_ns;
        self.threads_made += threads_made;
        self.restricted += restricted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_tracing_ended_early_is_told_once_of_several_processes() {
        let mut both = Statistics { restricted: 1, ..Statistics::default() };
        both += both;
        assert_eq!((both.restricted, both.doubts(0)), (2, vec![RESTRICTED.to_string()]));
    }

    #[test]
    fn tracing_that_takes_most_of_the_time_is_told() {
        let traced = |cpu_ns, begun| {
            let threads_made = Threads { cpu_ns, ..Threads::default() };
            Statistics { begun, between_ns: 2_000_000_000, threads_made, ..Statistics::default() }
        };
        let told = traced(16_000_000_000, 2000).doubts(1_000_000_000);
        assert_eq!(told.len(), 1);
        assert!(
            told[0].contains("of 15.00 s of CPU time in user mode some 2.00 s passed between"),
            "{told:?}"
        );
        for (cpu_ns, begun, kernel_ns) in
            [(3_900_000_000, 2000, 0), (16_000_000_000, 99, 0), (16_000_000_000, 2000, 12_500_000_000)]
        {
            assert_eq!(traced(cpu_ns, begun).doubts(kernel_ns), Vec::<String>::new());
        }
    }
}
