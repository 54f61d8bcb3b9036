//! The instruction that committed last, as debug interfaces show (paper A, section 2.2).

use timewise_trace::{Entry, Record};

use super::{Policy, Sharing, blame};
use crate::{Parts, Stacks};

/// Blames the oldest of what commits in the sampled cycle or, if nothing does, what committed last.
#[derive(Debug, Clone, Default)]
pub struct LastCommitted {
    last: Option<Entry>,
}

impl Policy for LastCommitted {
    #[inline]
    fn step(&mut self, record: &Record, samples: u64, stacks: &mut Stacks) {
        if samples > 0 {
            if record.committing > 0 {
                Sharing::Oldest.divide(record.commits(), None, samples, stacks);
            } else if let Some(last) = &self.last {
                blame(last, None, Parts::cycles(samples), stacks);
            }
        }
        if let [.., youngest] = record.commits() {
            self.last = Some(*youngest);
        }
    }
}
