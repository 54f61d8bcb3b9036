//! Calls by call site and callee: how often they were made, and what they cost with all that they called.

use crate::owners::{Owner, Owners};
use crate::stacks::Stacks;
use crate::weights::Weights;
use std::collections::{BTreeMap, HashSet};
use timewise_flow::Analysis;
use timewise_profile::{Place, RunKind};

/// All calls, by the place of the call instruction and by who was called: for an imported function itself, not its
/// linkage stub.
pub type Calls = BTreeMap<Place, BTreeMap<Owner, Call>>;

/// Calls from one place to one callee, in an average run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Call {
    /// How often; 0 where that was not counted.
    pub count: u64,
    /// Instructions executed from the callee's first to its return, recursion counted once; 0 where that
    /// was not counted.
    pub instructions: u64,
    /// Samples of all runs that found the call under way, recursion counted once.
    pub samples: f64,
    /// The cycles that they stand for.
    pub cycles: f64,
}

/// What reports tell of calls, with the time that they took in the kernel.
pub fn calls(analysis: &Analysis, owners: &Owners, stacks: &Stacks, weights: &Weights) -> Calls {
    let totals = analysis.totals();
    let mut calls = Calls::new();
    for (row, total) in totals.call_sites.iter().zip(&totals.calls) {
        let of_site: &mut BTreeMap<_, Call> = calls.entry(row.place(&analysis.code)).or_default();
        let call = of_site.entry(row.callee.map_or(Owner::Nowhere, |callee| owners.of(callee))).or_default();
        call.count = call.count.saturating_add(row.calls.unwrap_or(0));
        call.instructions = call.instructions.saturating_add(row.instructions);
        call.samples += total.cost.weight.samples;
        call.cycles += total.cost.weight.cycles;
    }
    add_kernel(&mut calls, analysis, owners, stacks, weights);
    calls
}

/// Charges each sample in the kernel, which reports tell by itself, to the calls that led to it: of each function to
/// the most recent one only, so that a function's own samples and those of its calls add up to its total.
fn add_kernel(calls: &mut Calls, analysis: &Analysis, owners: &Owners, stacks: &Stacks, weights: &Weights) {
    let runs = analysis.profile.runs_to_average(RunKind::Sampling) as f64;
    let in_kernel = analysis.profile.samples.iter().filter(|sample| {
        sample.stack.is_some() && (sample.kernel || sample.place.is_some_and(|place| owners.is_kernel(place)))
    });
    let mut active = HashSet::new();
    for sample in in_kernel {
        active.clear();
        let mut callee = None;
        for frame in stacks.of(sample, owners) {
            let recent = active.insert(frame.owner);
            if let (Some(callee), Some(site), true) = (callee, frame.place, recent) {
                let of_site = calls.entry(site).or_default();
                // Where another function is on the stack than the only one that was called, the latter went on by a
                // jump.
                let counted = of_site.iter().next().filter(|(_, call)| of_site.len() == 1 && call.count > 0);
                let callee = counted.map_or(callee, |(only, _)| *only);
                let call = of_site.entry(callee).or_default();
                call.samples += 1.0;
                call.cycles += weights.of(sample).cycles / runs;
            }
            callee = Some(frame.owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;
    use timewise_flow::sketch::sketch;

    /// As in an interpreter's loop.
    #[test]
    fn each_callee_of_one_place_is_told_once() {
        let mut text = String::from("block site at 0x1000 runs 1 code ffd0\n");
        for callee in 0..1000 {
            let at = 0x2000 + callee * 16;
            let _ = write!(
                text,
                "function f{callee} at {at:#x} size 16\nblock b{callee} at {at:#x} runs 1 code c3\n\
                 edge site -> b{callee} indirect-call {}\n",
                callee + 1
            );
        }
        let profile = sketch(&text).unwrap();
        let analysis = Analysis::new(&profile, None);
        let owners = Owners::new(&analysis);
        let (stacks, weights) = (Stacks::new(&analysis, &owners), Weights::new(&profile));
        let calls = calls(&analysis, &owners, &stacks, &weights);
        let [of_site] = &calls.into_values().collect::<Vec<_>>()[..] else { panic!("one place calls") };
        assert_eq!(of_site.len(), 1000);
        assert_eq!(of_site.values().map(|call| call.count).sum::<u64>(), 1000 * 1001 / 2);
    }
}
