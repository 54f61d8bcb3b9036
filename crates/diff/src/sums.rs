//! What sets of instructions cost together, each instruction scaled: its old cost at its new count is its time
//! in BASE times how much more often it ran in TEST.

use std::collections::HashMap;
use timewise_flow::samples::Weight;
use timewise_flow::{Analysis, InstructionId};

/// A scaled sum of samples, in the unit of its [`Measure`].
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sum {
    /// The sum.
    pub amount: f64,
    /// Sum of the squares of the scaled samples.
    pub squares: f64,
    /// Variance from dividing samples at the heads of blocks.
    pub split: f64,
    /// What one more sample would stand for; 0 where there is no code that it could fall on.
    pub unseen: f64,
    /// Time of lost samples, scaled, all of which may belong to this sum.
    pub missing: f64,
}

impl Sum {
    /// An amount that needed no sampling.
    pub fn known(amount: f64) -> Sum {
        Sum { amount, ..Sum::default() }
    }

    /// Whether the amount is known from samples only.
    pub fn is_sampled(&self) -> bool {
        self.squares > 0.0 || self.unseen > 0.0
    }

    /// Adds samples of other code, not divided.
    pub fn add(&mut self, other: Sum) {
        self.amount += other.amount;
        self.squares += other.squares;
        self.unseen = self.unseen.max(other.unseen);
        self.missing = self.missing.max(other.missing);
    }
}

/// In which unit samples are added up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measure {
    /// Whether samples count cycles; else they measure nanoseconds.
    counts_cycles: bool,
    /// The unit for a cycle.
    per_cycle: f64,
    /// What a sample usually stands for.
    sample: f64,
    /// Time of lost samples in an average run.
    missing: f64,
}

impl Measure {
    /// The measure of an analysis that was sampled.
    pub fn new(analysis: &Analysis, counts_cycles: bool) -> Measure {
        let per_cycle = if counts_cycles { 1.0 } else { analysis.ruler.cycle_ns };
        let sample = analysis.ruler.sample_cycles * per_cycle;
        let measure = Measure { counts_cycles, per_cycle, sample, missing: 0.0 };
        let share = analysis.quality.missing_share;
        // Of all of it nothing is known, not even how much that is.
        let for_seen = if share < 1.0 { share / (1.0 - share) } else { 0.0 };
        Measure { missing: for_seen * measure.amount(&analysis.samples.user), ..measure }
    }

    /// What samples stand for.
    pub fn amount(self, weight: &Weight) -> f64 {
        if self.counts_cycles { weight.cycles } else { weight.ns }
    }

    /// The sum of their squares.
    pub fn squares(self, weight: &Weight) -> f64 {
        weight.cycles_squared * self.per_cycle * self.per_cycle
    }

    /// What one sample usually stands for.
    pub fn sample(self) -> f64 {
        self.sample
    }

    /// Samples that are not scaled and did not have to be divided.
    pub fn sum(self, weight: &Weight) -> Sum {
        Sum {
            amount: self.amount(weight),
            squares: self.squares(weight),
            split: 0.0,
            unseen: self.sample,
            missing: self.missing,
        }
    }
}

/// Sums in so many slots. `slots` calls its second argument with each slot that an instruction belongs to,
/// and its scale there.
pub fn sums(
    analysis: &Analysis,
    measure: Measure,
    size: usize,
    slots: impl Fn(InstructionId, &mut dyn FnMut(usize, f64)),
) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); size];
    let mut scales = vec![Scale::default(); size];
    for (index, weight) in analysis.attributed.at.iter().enumerate() {
        let id = InstructionId(index as u32);
        slots(id, &mut |slot, scale| {
            sums[slot].amount += scale * measure.amount(weight);
            sums[slot].squares += scale * scale * measure.squares(weight);
            scales[slot].add(scale, analysis.code.executions(id));
        });
    }
    for split in &analysis.attributed.splits {
        let mut within: HashMap<usize, (f64, f64)> = HashMap::new();
        for part in &split.parts {
            slots(part.instruction, &mut |slot, scale| {
                let (plain, scaled) = within.entry(slot).or_default();
                *plain += part.variance;
                *scaled += part.variance * scale * scale;
            });
        }
        for (slot, (plain, scaled)) in within.into_iter().filter(|(_, (plain, _))| *plain > 0.0) {
            let cycles_squared = split.variance_of(plain) * scaled / plain;
            sums[slot].split += cycles_squared * measure.per_cycle * measure.per_cycle;
        }
    }
    for (sum, scale) in sums.iter_mut().zip(&scales) {
        sum.unseen = measure.sample * scale.mean();
        sum.missing = measure.missing * scale.mean();
    }
    sums
}

/// The scale of an unseen sample: it may have fallen on any execution.
#[derive(Clone, Copy, Default)]
struct Scale {
    executions: f64,
    scaled: f64,
    largest: f64,
}

impl Scale {
    fn add(&mut self, scale: f64, executions: u64) {
        self.executions += executions as f64;
        self.scaled += scale * executions as f64;
        self.largest = self.largest.max(scale);
    }

    fn mean(&self) -> f64 {
        if self.executions > 0.0 { self.scaled / self.executions } else { self.largest }
    }
}
