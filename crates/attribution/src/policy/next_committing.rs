//! The instruction that commits next, as Intel's PEBS samples (paper A, section 2.2).

use timewise_trace::Record;

use super::{Policy, Sharing};
use crate::Stacks;

/// Blames what commits in the sampled cycle or, if nothing does, what commits next.
#[derive(Debug, Clone)]
pub struct NextCommitting {
    sharing: Sharing,
    waiting: u64,
}

impl NextCommitting {
    /// With [`Sharing::Equal`] it is what paper A, section 5.2, calls NCI+ILP.
    pub fn new(sharing: Sharing) -> Self {
        Self { sharing, waiting: 0 }
    }
}

impl Policy for NextCommitting {
    #[inline]
    fn step(&mut self, record: &Record, samples: u64, stacks: &mut Stacks) {
        self.waiting += samples;
        if self.waiting > 0 && record.committing > 0 {
            self.sharing.divide(record.commits(), None, self.waiting, stacks);
            self.waiting = 0;
        }
    }
}
