//! Costs of single instructions: exact executions, and samples charged as reports charge them.

use crate::owners::Owners;
use crate::weights::Weights;
use std::collections::BTreeMap;
use timewise_flow::Analysis;
use timewise_flow::samples::Weight;
use timewise_profile::{Place, RunKind};

/// What an instruction cost in an average run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// How often it was executed; `None` where that was not counted.
    pub executions: Option<u64>,
    /// Samples of all runs that were charged to it; a fraction where a sample was divided.
    pub samples: f64,
    /// Nanoseconds of CPU time that they stand for.
    pub ns: f64,
    /// Cycles that they stand for.
    pub cycles: f64,
}

impl Cost {
    fn new(executions: Option<u64>, weight: Weight, weights: &Weights) -> Cost {
        let Weight { samples, cycles, .. } = weight;
        let ns = weights.ns_per_counted_cycle().map_or(weight.ns, |ns| cycles * ns);
        Cost { executions, samples, ns, cycles }
    }
}

/// All instructions that were executed or sampled, those of the kernel included.
pub fn costs(analysis: &Analysis, owners: &Owners, weights: &Weights) -> BTreeMap<Place, Cost> {
    let mut costs: BTreeMap<Place, Cost> = BTreeMap::new();
    for (id, cost) in (0..).map(timewise_flow::InstructionId).zip(analysis.by_instruction()) {
        if cost.instructions > 0 || cost.weight.samples > 0.0 {
            let cost = Cost::new(Some(cost.instructions), cost.weight, weights);
            costs.insert(analysis.code.place(id), cost);
        }
    }
    let counted = !analysis.code.blocks.is_empty();
    for (place, _, weight) in analysis.strays() {
        let executions = (counted && analysis.was_surely_not_executed(place)).then_some(0);
        costs.insert(place, Cost::new(executions, weight, weights));
    }
    let runs = analysis.profile.runs_to_average(RunKind::Sampling) as f64;
    for sample in &analysis.profile.samples {
        if let Some(place) = sample.place.filter(|&place| owners.is_kernel(place)) {
            let cost = costs.entry(place).or_default();
            cost.samples += 1.0;
            let weight = weights.of(sample);
            cost.ns += weight.ns / runs;
            cost.cycles += weight.cycles / runs;
        }
    }
    costs
}
