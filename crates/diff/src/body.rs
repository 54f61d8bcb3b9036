//! What a function executes, by which it is known where its name does not tell.

use crate::matching::tokens;
use std::collections::HashSet;
use timewise_flow::{Analysis, RoutineId};
use timewise_isa::Shape;

/// Instructions of a run.
const RUN: usize = 3;

/// Runs of two functions that must be common, as a share of all runs of both, for one to be likely what became of the
/// other.
pub const ENOUGH: f64 = 0.5;

/// Instructions in a row, without their operands.
pub type Run = [u64; RUN];

/// The executed instructions of a function, without addresses.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Body(pub Vec<Shape>);

impl Body {
    /// Those of a routine.
    pub fn of(analysis: &Analysis, routine: u32) -> Body {
        let (_, tokens) = tokens(analysis, RoutineId(routine));
        Body(tokens.iter().map(|token| token.shape).collect())
    }

    /// All runs in it.
    pub fn runs(&self) -> HashSet<Run> {
        self.0.windows(RUN).map(|run| std::array::from_fn(|n| run[n].loose)).collect()
    }
}

/// The runs that two functions have in common, as a share of those of both.
pub fn similarity(ours: &HashSet<Run>, theirs: &HashSet<Run>) -> f64 {
    let common = ours.intersection(theirs).count() as f64;
    common / (ours.len() + theirs.len()).max(1) as f64 * 2.0
}
