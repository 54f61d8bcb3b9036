//! A profiler: a policy, the cycles at which it samples, and what it found.

use timewise_trace::{Record, Worker};

use crate::policy::{Policy, Sharing, TimeProportional};
use crate::{Schedule, Stacks};

/// A worker that attributes sampled cycles to instructions.
#[derive(Debug, Clone)]
pub struct Profiler<P> {
    policy: P,
    schedule: Schedule,
    stacks: Stacks,
}

impl Profiler<TimeProportional> {
    /// The reference: every cycle, attributed to the instructions whose latency it exposes, with their
    /// events.
    pub fn oracle() -> Self {
        Self::new(TimeProportional::new(Sharing::Equal), Schedule::every_cycle())
    }
}

impl<P: Policy> Profiler<P> {
    /// A profiler that has seen nothing.
    pub fn new(policy: P, schedule: Schedule) -> Self {
        Self { policy, schedule, stacks: Stacks::default() }
    }

    /// What was found, in samples.
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }
}

impl<P: Policy> Worker<Record> for Profiler<P> {
    fn take(&mut self, part: &[Record]) {
        for record in part {
            let samples = self.schedule.samples(record);
            self.policy.step(record, samples, &mut self.stacks);
        }
    }
}
