//! Why an instruction has its cycles, in words.

use super::words::{Waiting, reason};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use timewise_attribution::Parts;
use timewise_flow::{Analysis, InstructionId, Modelled};

/// A reason for cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// In words.
    pub words: String,
    /// The cycles.
    pub cycles: Parts,
}

/// Reasons of an instruction that are told, and what share of its cycles each must have.
const TOLD: usize = 3;
const WORTH_TELLING: f64 = 0.1;

/// All reasons of an instruction, those with the most cycles first. Components that mean the same to a reader
/// are one.
pub fn reasons(analysis: &Analysis, modelled: &Modelled, id: InstructionId) -> Vec<Reason> {
    let mut sums: BTreeMap<String, Parts> = BTreeMap::new();
    let waiting = Waiting::of(analysis, id);
    for (component, parts) in modelled.stacks.stack(id.0) {
        *sums.entry(reason(component, waiting)).or_default() += parts;
    }
    let mut reasons: Vec<Reason> = sums.into_iter().map(|(words, cycles)| Reason { words, cycles }).collect();
    reasons.sort_by(|a, b| (Reverse(a.cycles), &a.words).cmp(&(Reverse(b.cycles), &b.words)));
    reasons
}

/// What most of an instruction's cycles are.
pub fn why(analysis: &Analysis, modelled: &Modelled, id: InstructionId) -> String {
    let height = modelled.stacks.height(id.0);
    let reasons = reasons(analysis, modelled, id);
    let told = reasons.iter().take(TOLD).filter(|reason| reason.cycles.of(height) >= WORTH_TELLING);
    let share = |reason: &Reason| format!("{} {:.0} %", reason.words, 100.0 * reason.cycles.of(height));
    told.map(share).collect::<Vec<_>>().join(", ")
}
