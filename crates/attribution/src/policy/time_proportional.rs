//! The instruction whose latency the processor exposes: the policy of Oracle, TIP and TEA (paper A,
//! sections 2.2 and 3.1, paper B, section 3).

use timewise_trace::{Entry, Record};

use super::{Policy, Sharing, blame};
use crate::{Parts, Stacks, State};

/// Blames what commits; else what waits at the head of the reorder buffer; else, where that is empty, the
/// instruction that flushed it or, if none did, the next to enter it.
///
/// The events of an instruction that waits are complete only when it leaves, so its cycles wait for that.
#[derive(Debug, Clone)]
pub struct TimeProportional {
    sharing: Sharing,
    /// The entry that left last, by commit or by exception: TIP's offending instruction register.
    offender: Option<Entry>,
    /// Samples of the instruction that is or will be the oldest: in which the reorder buffer was empty,
    /// and in which it waited.
    drained: u64,
    stalled: u64,
}

impl TimeProportional {
    /// With [`Sharing::Oldest`] it is what paper A calls TIP-ILP.
    pub fn new(sharing: Sharing) -> Self {
        Self { sharing, offender: None, drained: 0, stalled: 0 }
    }

    /// The oldest entry leaves: what waited for it is its own.
    #[inline]
    fn settle(&mut self, oldest: &Entry, stacks: &mut Stacks) {
        for (state, samples) in [(State::Drained, &mut self.drained), (State::Stalled, &mut self.stalled)] {
            if *samples > 0 {
                blame(oldest, Some(state), Parts::cycles(*samples), stacks);
                *samples = 0;
            }
        }
    }
}

impl Policy for TimeProportional {
    #[inline]
    fn step(&mut self, record: &Record, samples: u64, stacks: &mut Stacks) {
        let heads = record.heads();
        if let [oldest, ..] = record.commits() {
            self.settle(oldest, stacks);
            if samples > 0 {
                self.sharing.divide(record.commits(), Some(State::Computing), samples, stacks);
            }
            self.offender = record.commits().last().copied();
        } else if !heads.is_empty() {
            self.stalled += samples;
        } else if samples > 0 {
            match self.offender {
                Some(offender) if offender.flags.any() => {
                    blame(&offender, Some(State::behind(&offender)), Parts::cycles(samples), stacks);
                }
                _ => self.drained += samples,
            }
        }
        if let Some(exception) = record.exception() {
            // It is the oldest, unless others commit in the same cycle, for which nothing waits now.
            self.settle(exception, stacks);
            self.offender = Some(*exception);
        }
    }
}
