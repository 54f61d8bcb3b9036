//! All profilers of the papers at the same sampled cycles, and the reference beside them.

use timewise_trace::{Record, Worker};

use crate::policy::{Policy, TimeProportional};
use crate::technique::Blame;
use crate::{Profiler, Schedule, Stacks, Technique, Units, Weighted, error};

/// A worker that runs the reference and every way of blaming, sampled.
pub struct Comparison {
    oracle: Profiler<TimeProportional>,
    schedule: Schedule,
    samples: u64,
    /// Sampled cycles of each record of the present part.
    in_part: Vec<u64>,
    sampled: Vec<(Box<dyn Policy>, Stacks)>,
}

/// What a comparison found, of one core or of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    /// The reference: every cycle.
    pub reference: Stacks,
    /// Samples that were taken.
    pub samples: u64,
    /// Cycles that each of them stands for.
    pub period: u64,
    /// By way of blaming, in the order of [`Blame::ALL`].
    sampled: Vec<Stacks>,
}

/// How far a technique is from the reference, as parts of all cycles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// Against every cycle of the run: the error that the papers report.
    pub total: f64,
    /// Against the reference at the sampled cycles only: what more samples would not mend.
    pub systematic: f64,
}

impl Comparison {
    /// Compares profilers that sample by this schedule.
    pub fn new(schedule: Schedule) -> Self {
        let sampled = Blame::ALL.map(|blame| (blame.policy(), Stacks::default())).into();
        Self { oracle: Profiler::oracle(), schedule, samples: 0, in_part: Vec::new(), sampled }
    }

    /// What was found until now.
    pub fn findings(&self) -> Findings {
        Findings {
            reference: self.oracle.stacks().clone(),
            samples: self.samples,
            period: self.schedule.period(),
            sampled: self.sampled.iter().map(|(_, stacks)| stacks.clone()).collect(),
        }
    }
}

impl Worker<Record> for Comparison {
    fn take(&mut self, part: &[Record]) {
        self.oracle.take(part);
        self.in_part.clear();
        self.in_part.extend(part.iter().map(|record| self.schedule.samples(record)));
        self.samples += self.in_part.iter().sum::<u64>();
        // Policy by policy, so that the processor keeps what each knows at hand.
        for (policy, stacks) in &mut self.sampled {
            policy.steps(part, &self.in_part, stacks);
        }
    }
}

impl Findings {
    /// The same with instructions numbered anew. Cycles of those that have no new number are left out.
    pub fn renumbered(&self, number: impl Fn(u32) -> Option<u32>) -> Self {
        Self {
            reference: self.reference.renumbered(&number),
            sampled: self.sampled.iter().map(|stacks| stacks.renumbered(&number)).collect(),
            ..*self
        }
    }

    /// Adds what was found of another core, at samples of the same period and with instructions of the
    /// same numbers.
    pub fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        self.reference.merge(&other.reference);
        for (stacks, others) in self.sampled.iter_mut().zip(&other.sampled) {
            stacks.merge(others);
        }
    }

    /// What one way of blaming found.
    pub fn found(&self, blame: Blame) -> Weighted<'_> {
        Weighted { stacks: &self.sampled[blame as usize], cycles_each: self.period }
    }

    /// How far a technique is from the reference, by such units.
    pub fn errors(&self, technique: Technique, units: &Units) -> Errors {
        let found = self.found(technique.blame);
        let against = |reference| error(reference, found, units, technique.events);
        let reference = Weighted { stacks: &self.reference, cycles_each: 1 };
        // At the sampled cycles the time-proportional policy finds what the reference does.
        Errors { total: against(reference), systematic: against(self.found(Blame::TimeProportional)) }
    }
}
