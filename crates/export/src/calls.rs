//! Calls by call site and callee: how often they were made, and what they cost with all that they called.

use crate::owners::{Owner, Owners};
use crate::stacks::Stacks;
use crate::weights::{Weights, runs};
use std::collections::{BTreeMap, HashMap, HashSet};
use timewise_flow::Analysis;
use timewise_flow::imports::Imports;
use timewise_profile::{BlockId, EdgeKind, Place, RunKind};

/// All calls, by the place of the call instruction.
pub type Calls = BTreeMap<Place, Vec<Call>>;

/// Calls from one place to one callee, in an average run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Call {
    /// Who was called; for an imported function itself, not its linkage stub.
    pub callee: Owner,
    /// Where it was entered, if that is known.
    pub target: Option<Place>,
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

/// Joins what edges, costs of calls and sampled stacks tell of calls.
pub fn calls(analysis: &Analysis, owners: &Owners, stacks: &Stacks, weights: &Weights) -> Calls {
    let mut joined = Joined::default();
    joined.add_counts(analysis, owners);
    joined.add_samples(analysis, owners, stacks, weights);
    joined.calls
}

/// Calls as they are put together.
#[derive(Default)]
struct Joined {
    calls: Calls,
    /// Where a call stands among those from its place: one place may call as many functions as there are.
    known: HashMap<(Place, Owner), usize>,
}

impl Joined {
    fn add_counts(&mut self, analysis: &Analysis, owners: &Owners) {
        let code = &analysis.code;
        let imports = Imports::new(analysis);
        let site = |block: BlockId| {
            let block = &code.blocks[block.index()];
            (block.length > 0).then(|| code.place(block.last()))
        };
        // Of an imported function where it begins, not its linkage stub.
        let target = |block: BlockId| {
            let block = imports.behind(analysis.owner[block.index()]).unwrap_or(block);
            code.blocks[block.index()].place
        };
        for edge in &code.edges {
            if let (Some(from), Some(to), EdgeKind::Call | EdgeKind::IndirectCall) =
                (edge.from, edge.to, edge.kind)
                && let Some(site) = site(from)
            {
                let target = target(to);
                self.call(site, owners.at(target), Some(target)).count += edge.count;
            }
        }
        let runs = runs(analysis.profile, RunKind::Counting);
        for cost in &analysis.profile.call_costs {
            if let Some(site) = site(cost.site) {
                let target = target(cost.callee);
                let call = self.call(site, owners.at(target), Some(target));
                call.instructions = call.instructions.saturating_add(cost.instructions);
            }
        }
        for call in self.calls.values_mut().flatten() {
            call.instructions = (call.instructions + runs / 2) / runs;
        }
    }

    /// Charges each sample to the calls that led to it: of each function to the most recent one only, so that
    /// a function's own samples and those of its calls add up to its total.
    fn add_samples(&mut self, analysis: &Analysis, owners: &Owners, stacks: &Stacks, weights: &Weights) {
        let runs = runs(analysis.profile, RunKind::Sampling) as f64;
        let mut active = HashSet::new();
        for sample in analysis.profile.samples.iter().filter(|sample| sample.stack.is_some()) {
            let cycles = weights.of(sample).cycles / runs;
            active.clear();
            let mut callee = None;
            for frame in stacks.of(sample, owners) {
                let recent = active.insert(frame.owner);
                if let (Some(callee), Some(site), true) = (callee, frame.place, recent) {
                    let call = self.sampled_call(site, callee);
                    call.samples += 1.0;
                    call.cycles += cycles;
                }
                callee = Some(frame.owner);
            }
        }
    }

    /// The call that led to `callee`. Where another function is on the stack than the only one that was
    /// called, the latter went on by a jump.
    fn sampled_call(&mut self, site: Place, callee: Owner) -> &mut Call {
        let callee = match self.calls.get(&site).map(Vec::as_slice) {
            Some([only]) if only.count > 0 => only.callee,
            _ => callee,
        };
        self.call(site, callee, None)
    }

    /// The call from `site` to `callee`.
    fn call(&mut self, site: Place, callee: Owner, target: Option<Place>) -> &mut Call {
        let calls = self.calls.entry(site).or_default();
        let at = *self.known.entry((site, callee)).or_insert_with(|| {
            calls.push(Call { callee, target, count: 0, instructions: 0, samples: 0.0, cycles: 0.0 });
            calls.len() - 1
        });
        &mut calls[at]
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
        let callees: HashSet<Owner> = of_site.iter().map(|call| call.callee).collect();
        assert_eq!((of_site.len(), callees.len()), (1000, 1000));
        assert_eq!(of_site.iter().map(|call| call.count).sum::<u64>(), 1000 * 1001 / 2);
    }
}
