//! Charging samples to the dynamic predecessor.
//!
//! Inside a block that is the instruction before. At a block's head there are as many candidates as
//! ways in, and their samples must be divided. Dividing by how often each way was taken is wrong where
//! it matters most: at a loop's header nearly all arrivals come by the back edge, although a slow load
//! before the loop may have caused nearly all of the samples. What a way causes is how often it was
//! taken *times* what its last instruction costs. That cost is unknown, but not unlimited: a predicted
//! branch waits a cycle at most, a load perhaps hundreds.
//!
//! So each candidate is given what an instruction of its kind usually costs and the most that is
//! believable (see `expect`), both times its count. Up to the usual sum, samples are divided by usual
//! cost; what exceeds it, by how much more each candidate may cost. Candidates of one kind thus share
//! by count, and a slow load that runs into a loop's header keeps its samples against a back edge taken
//! hundreds of times as often. If even the most that is believable is exceeded, as where others use the
//! core meanwhile, all took so much longer alike. What the rule leaves open goes into the confidence intervals.
//!
//! At a function's first instruction the candidates are its callers, and the stack says which one it was.
//!
//! A repeated string operation is its own cause: it is interrupted in its middle.

use super::expect::{Expected, execution, mispredictions};
use super::{Attributed, Charge, Division, Part, Policy, Split, within};
use crate::code::{Code, Edge, InstructionId};
use crate::frames::Frames;
use crate::interval::NORMAL_RANGE;
use crate::samples::{Samples, Spot, Weight};
use std::collections::BTreeMap;
use timewise_profile::{BlockId, EdgeKind, StackId};

pub fn attribute(code: &Code, samples: &Samples, frames: &Frames) -> Attributed {
    let mut to = Attributed { at: vec![Weight::default(); samples.at.len()], ..Attributed::default() };
    for (index, block) in code.blocks.iter().enumerate() {
        let id = BlockId(index as u32);
        for (position, instruction) in block.instructions().enumerate() {
            let weight = samples.at[instruction.index()];
            if weight.samples == 0.0 {
                continue;
            }
            if position == 0 && !code.instructions[instruction.index()].step.repeats {
                head(code, samples, frames, id, &mut to);
            } else {
                to.at[within(code, instruction, Policy::Predecessor).index()] += weight;
            }
        }
    }
    to
}

/// A way into a block: the instruction that control came from and what it is expected to have cost,
/// all executions together.
#[derive(Clone, Copy)]
struct Candidate {
    instruction: InstructionId,
    cost: Expected,
    /// Its block, if it is a call.
    call: Option<BlockId>,
}

fn head(code: &Code, samples: &Samples, frames: &Frames, block: BlockId, to: &mut Attributed) {
    let ways = code.edges_into(block).iter().filter(|edge| edge.kind != EdgeKind::External && edge.count > 0);
    let mut candidates: Vec<Candidate> = ways.filter_map(|edge| candidate(code, samples, edge)).collect();
    // One instruction may have two ways to the same block, as an indirect jump with a jump table.
    candidates.sort_by_key(|candidate| candidate.instruction);
    candidates.dedup_by(|next, kept| {
        let same = next.instruction == kept.instruction;
        if same {
            kept.cost = kept.cost.and(next.cost);
        }
        same
    });
    let first = code.blocks[block.index()].first;
    for (caller, weight) in by_caller(samples, frames, first, &candidates) {
        // Of several calls the one on the stack led here.
        let is_possible = |one: &&Candidate| caller.is_none() || one.call.is_none() || one.call == caller;
        let possible: Vec<Candidate> = candidates.iter().filter(is_possible).copied().collect();
        let charges = match &possible[..] {
            // Control came from outside: a signal or the start of a thread. Nothing else is known.
            [] => vec![Charge { instruction: first, share: 1.0, variance: 0.0 }],
            [only] => vec![Charge { instruction: only.instruction, share: 1.0, variance: 0.0 }],
            several => divide(several, weight),
        };
        for charge in &charges {
            to.at[charge.instruction.index()] += weight.share(charge.share);
        }
        if let [_, _, ..] = charges[..] {
            let part = |charge: &Charge| Part { instruction: charge.instruction, variance: charge.variance };
            let parts: Vec<Part> = charges.iter().map(part).collect();
            let variance = parts.iter().map(|part| part.variance).sum();
            to.splits.push(Split { parts, variance });
        }
        to.heads.insert((block, caller), Division { weight, charges });
    }
}

/// The samples on `first`, by the candidate that stands on their stacks as the innermost call.
fn by_caller(
    samples: &Samples,
    frames: &Frames,
    first: InstructionId,
    candidates: &[Candidate],
) -> BTreeMap<Option<BlockId>, Weight> {
    if candidates.iter().all(|candidate| candidate.call.is_none()) {
        return BTreeMap::from([(None, samples.at[first.index()])]);
    }
    let mut weights: BTreeMap<Option<BlockId>, Weight> = BTreeMap::new();
    let (low, high) = (None, Some(StackId(u32::MAX)));
    for ((_, stack), weight) in
        samples.by_stack.range((Spot::Counted(first), low)..=(Spot::Counted(first), high))
    {
        let call = frames.call(*stack).filter(|call| candidates.iter().any(|one| one.call == Some(*call)));
        *weights.entry(call).or_default() += *weight;
    }
    weights
}

fn divide(candidates: &[Candidate], weight: Weight) -> Vec<Charge> {
    let sum = |of: fn(&Candidate) -> f64| candidates.iter().map(of).sum::<f64>();
    let (usual, most, room) = (sum(|c| c.cost.mean), sum(|c| c.cost.most), sum(|c| c.cost.room()));
    // Samples may weigh nothing: their number is still divided.
    let observed = if weight.cycles > 0.0 { weight.cycles } else { usual };
    let believable = observed.min(most);
    let scale = (believable / usual).min(1.0);
    let unusual = (believable - usual).max(0.0);
    let charge = |Candidate { instruction, cost, .. }: &Candidate| {
        let cycles = cost.mean * scale + unusual * cost.room() / room;
        // At one extreme it cost as much as it can, at the other the others did.
        let high = cost.most.clamp(cycles, believable.max(cycles));
        let low = (believable - (most - cost.most)).clamp(0.0, cycles);
        let range = (high - cycles).max(cycles - low) * observed / believable;
        Charge {
            instruction: *instruction,
            share: cycles / believable,
            variance: (range / NORMAL_RANGE).powi(2),
        }
    };
    candidates.iter().map(charge).collect()
}

fn candidate(code: &Code, samples: &Samples, edge: &Edge) -> Option<Candidate> {
    let from = &code.blocks[edge.from?.index()];
    let last = from.last();
    let step = |id: InstructionId| &code.instructions[id.index()].step;
    let before = (from.length > 1).then(|| step(InstructionId(last.0 - 1)));
    let mut each = execution(step(last), before);
    if edge.from == edge.to {
        each.mean = each.mean.max(rest_of_round(samples, from)).min(each.most);
    }
    let wrong = mispredictions(step(last), edge.count, from.executions.saturating_sub(edge.count));
    let call = edge.from.filter(|&from| code.ends_in_call(from));
    Some(Candidate { instruction: last, cost: each.times(edge.count as f64).and(wrong), call })
}

/// A loop of one block takes at least a cycle a round, because a core takes one branch a cycle; what
/// its other instructions do not account for is the branch's, which may be fused with all of them.
fn rest_of_round(samples: &Samples, block: &crate::code::ExecutedBlock) -> f64 {
    let inside: f64 = block.instructions().skip(1).map(|id| samples.at[id.index()].cycles).sum();
    1.0 - inside / block.executions.max(1) as f64
}
