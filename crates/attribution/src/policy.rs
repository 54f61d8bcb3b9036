//! Who is blamed for a sampled cycle: one file each.

mod last_committed;
mod next_committing;
mod tagged;
mod time_proportional;

use timewise_trace::{Entry, Record};

use crate::{Component, Parts, Stacks, State};

pub use last_committed::LastCommitted;
pub use next_committing::NextCommitting;
pub use tagged::{Stage, Tagged};
pub use time_proportional::TimeProportional;

/// A way to attribute cycles to instructions.
///
/// A policy sees every record, sampled or not, as it must know what came before. A sample that cannot be
/// attributed yet, or whose events are not complete, waits within the policy for the records to come;
/// what waits at the end of the trace is lost.
pub trait Policy: Send {
    /// Looks at the next record, of which so many cycles are sampled, and adds to the stacks what can be
    /// attributed now.
    fn step(&mut self, record: &Record, samples: u64, stacks: &mut Stacks);

    /// Looks at the next records, with as many numbers of sampled cycles. Whoever knows a policy only as
    /// some policy saves a call for each record.
    fn steps(&mut self, records: &[Record], samples: &[u64], stacks: &mut Stacks) {
        for (record, samples) in records.iter().zip(samples) {
            self.step(record, *samples, stacks);
        }
    }
}

/// Whether a policy divides a cycle among the instructions that commit in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Each of `n` instructions gets `1/n` of it.
    Equal,
    /// The oldest gets it all.
    Oldest,
}

impl Sharing {
    /// The entries that cycles are divided among.
    #[inline]
    fn among(self, commits: &[Entry]) -> &[Entry] {
        match self {
            Self::Equal => commits,
            Self::Oldest => &commits[..commits.len().min(1)],
        }
    }

    /// Divides cycles among entries that commit.
    #[inline]
    fn divide(self, commits: &[Entry], state: Option<State>, cycles: u64, stacks: &mut Stacks) {
        let among = self.among(commits);
        for entry in among {
            blame(entry, state, Parts::share(cycles, among.len()), stacks);
        }
    }
}

#[inline]
fn blame(entry: &Entry, state: Option<State>, parts: Parts, stacks: &mut Stacks) {
    let component = match state {
        Some(state) => Component::new(state, entry.events),
        None => Component::of_events(entry.events),
    };
    stacks.add(entry.instruction, component, parts);
}
