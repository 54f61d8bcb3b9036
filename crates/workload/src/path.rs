//! One path, instruction by instruction: what is wasted on it.

use crate::backward::{Claim, claims};
use crate::forward::{Facts, Machine};
use timewise_isa::effects::{Effects, Storages};

/// Claims of the instructions of a path, of which some storages are read behind its end.
pub fn wasted_on(path: &[&Effects], live_at_end: Storages) -> Vec<Option<Claim>> {
    let mut machine = Machine::new();
    let step = |(position, effects): (usize, &&Effects)| machine.step(position, effects);
    let facts: Vec<Facts> = path.iter().enumerate().map(step).collect();
    claims(path, &facts, live_at_end)
}

#[cfg(test)]
mod tests;
