//! Costs of single instructions: exact executions, and samples charged as reports charge them.

use crate::owners::Owners;
use crate::weights::{Weights, runs};
use std::collections::BTreeMap;
use timewise_flow::Analysis;
use timewise_profile::{Place, RunKind};

/// What an instruction cost in one run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// How often it was executed; `None` where that was not counted.
    pub executions: Option<u64>,
    /// Samples charged to it; a fraction where a sample was divided.
    pub samples: f64,
    /// Cycles that they stand for.
    pub cycles: f64,
}

/// All instructions that were executed or sampled, those of the kernel included.
pub fn costs(analysis: &Analysis, owners: &Owners, weights: &Weights) -> BTreeMap<Place, Cost> {
    let mut costs: BTreeMap<Place, Cost> = BTreeMap::new();
    for (id, cost) in (0..).map(timewise_flow::InstructionId).zip(analysis.by_instruction()) {
        let samples = cost.weight.samples;
        if cost.instructions > 0 || samples > 0.0 {
            let executions = Some(cost.instructions);
            costs.insert(analysis.code.place(id), Cost { executions, samples, cycles: cost.weight.cycles });
        }
    }
    let counted = !analysis.code.blocks.is_empty();
    for (place, _, weight) in analysis.strays() {
        let executions = (counted && analysis.was_surely_not_executed(place)).then_some(0);
        costs.insert(place, Cost { executions, samples: weight.samples, cycles: weight.cycles });
    }
    let runs = runs(analysis.profile, RunKind::Sampling) as f64;
    for sample in &analysis.profile.samples {
        if let Some(place) = sample.place.filter(|&place| owners.is_kernel(place)) {
            let cost = costs.entry(place).or_default();
            cost.samples += 1.0;
            cost.cycles += weights.of(sample).cycles / runs;
        }
    }
    costs
}
