//! Giving samples to the instructions that caused them.
//!
//! Without precise events a sample names the instruction that would have run next when the interrupt
//! was taken, and the instruction before it in the order of execution is what held the processor up
//! (OptiWISE paper, sections III and V-B).

mod expect;
mod predecessor;

use crate::code::{Code, InstructionId};
use crate::samples::{Samples, Weight};
use timewise_profile::Clock;

/// Which instruction a sample is charged to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The instruction that the sample names.
    Sampled,
    /// The instruction executed before it.
    Predecessor,
}

impl Policy {
    /// The right policy for samples of this clock: precise events already name the cause.
    pub fn suited_to(clock: Option<&Clock>) -> Policy {
        match clock {
            Some(clock) if clock.precise_level > 0 => Policy::Sampled,
            _ => Policy::Predecessor,
        }
    }
}

/// An instruction that part of the samples at some block's head were charged to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Part {
    /// The instruction.
    pub instruction: InstructionId,
    /// Variance of its share, in cycles squared.
    pub variance: f64,
}

/// How the samples at one block's head were divided.
#[derive(Clone, PartialEq, Debug)]
pub struct Split {
    /// Candidates, at least two.
    pub parts: Vec<Part>,
    /// Sum of the parts' variances.
    pub variance: f64,
}

impl Split {
    /// Variance of what several parts got together, whose own variances add up to `variance`. The sum
    /// over the whole split is known, so the other parts got too little by what these got too much.
    pub fn variance_of(&self, variance: f64) -> f64 {
        variance.min((self.variance - variance).max(0.0))
    }
}

/// Samples by the instruction that they are charged to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Attributed {
    /// Weight of each instruction, by id.
    pub at: Vec<Weight>,
    /// Divisions whose result is uncertain.
    pub splits: Vec<Split>,
}

/// Charges all samples on counted code by `policy`.
pub fn attribute(code: &Code, samples: &Samples, policy: Policy) -> Attributed {
    match policy {
        Policy::Sampled => Attributed { at: samples.at.clone(), splits: Vec::new() },
        Policy::Predecessor => predecessor::attribute(code, samples),
    }
}
