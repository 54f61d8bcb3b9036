//! Giving samples to the instructions that caused them.
//!
//! Without precise events a sample names the instruction that would have run next when the interrupt
//! was taken, and the instruction before it in the order of execution is what held the processor up
//! (OptiWISE paper, sections III and V-B).

mod expect;
mod predecessor;

pub(crate) use expect::{LONGEST_DIVISION, WRONG_PREDICTION};

use crate::code::{Code, InstructionId};
use crate::frames::Frames;
use crate::samples::{Samples, Weight};
use std::collections::HashMap;
use timewise_profile::{BlockId, Clock};

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

/// A division of the samples at one block's head whose result is uncertain.
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

/// An instruction that samples are charged to, and its part of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Charge {
    /// The instruction.
    pub instruction: InstructionId,
    /// Its share, 0 to 1.
    pub share: f64,
    /// Variance of what it gets, in cycles squared.
    pub variance: f64,
}

/// The samples at a block's head that are divided alike: those with this caller, if the block is called and the
/// stack tells by which of its callers.
pub type Head = (BlockId, Option<BlockId>);

/// How the samples at a block's head were divided.
#[derive(Clone, PartialEq, Debug)]
pub struct Division {
    /// All of them.
    pub weight: Weight,
    /// What they were charged to; shares add up to 1.
    pub charges: Vec<Charge>,
}

/// Samples by the instruction that they are charged to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Attributed {
    /// Weight of each instruction, by id.
    pub at: Vec<Weight>,
    /// Divisions whose result is uncertain.
    pub splits: Vec<Split>,
    /// Divisions of the samples at blocks' heads; empty where samples are charged where they fell.
    pub heads: HashMap<Head, Division>,
}

impl Attributed {
    /// The division of samples at the head of `block` whose innermost call is `caller`.
    pub fn division(&self, block: BlockId, caller: Option<BlockId>) -> Option<(Head, &Division)> {
        let of = |head: Head| self.heads.get(&head).map(|division| (head, division));
        of((block, caller)).or_else(|| of((block, None)))
    }
}

/// Charges all samples on counted code by `policy`.
pub fn attribute(code: &Code, samples: &Samples, frames: &Frames, policy: Policy) -> Attributed {
    match policy {
        Policy::Sampled => Attributed { at: samples.at.clone(), ..Attributed::default() },
        Policy::Predecessor => predecessor::attribute(code, samples, frames),
    }
}

/// The instruction that a sample within a block, not at its head, is charged to.
pub fn within(code: &Code, sampled: InstructionId, policy: Policy) -> InstructionId {
    let is_own_cause = code.instructions[sampled.index()].step.repeats;
    if is_own_cause || policy == Policy::Sampled { sampled } else { InstructionId(sampled.0 - 1) }
}
