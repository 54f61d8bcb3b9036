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
//! hundreds of times as often. What the rule leaves open goes into the confidence intervals.
//!
//! A repeated string operation is its own cause: it is interrupted in its middle.

use super::expect::{Expected, execution, mispredictions};
use super::{Attributed, Part, Split};
use crate::code::{Code, Edge, InstructionId};
use crate::interval::NORMAL_RANGE;
use crate::samples::{Samples, Weight};
use timewise_profile::{BlockId, EdgeKind};

pub fn attribute(code: &Code, samples: &Samples) -> Attributed {
    let mut to = Attributed { at: vec![Weight::default(); samples.at.len()], splits: Vec::new() };
    for (index, block) in code.blocks.iter().enumerate() {
        let id = BlockId(index as u32);
        for (position, instruction) in block.instructions().enumerate() {
            let weight = samples.at[instruction.index()];
            if weight.samples == 0.0 {
                continue;
            }
            match position {
                _ if code.instructions[instruction.index()].step.repeats => {
                    to.at[instruction.index()] += weight;
                }
                0 => head(code, samples, id, weight, &mut to),
                _ => to.at[instruction.index() - 1] += weight,
            }
        }
    }
    to
}

/// A way into a block: the instruction that control came from and what it is expected to have cost,
/// all executions together.
struct Candidate {
    instruction: InstructionId,
    cost: Expected,
}

fn head(code: &Code, samples: &Samples, block: BlockId, weight: Weight, to: &mut Attributed) {
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
    match &candidates[..] {
        // Control came from outside: a signal or the start of a thread. Nothing else is known.
        [] => to.at[code.blocks[block.index()].first.index()] += weight,
        [only] => to.at[only.instruction.index()] += weight,
        _ => divide(&candidates, weight, to),
    }
}

fn divide(candidates: &[Candidate], weight: Weight, to: &mut Attributed) {
    let sum = |of: fn(&Candidate) -> f64| candidates.iter().map(of).sum::<f64>();
    let (usual, most, room) = (sum(|c| c.cost.mean), sum(|c| c.cost.most), sum(|c| c.cost.room()));
    // Samples may weigh nothing: their number is still divided.
    let observed = if weight.cycles > 0.0 { weight.cycles } else { usual };
    let scale = (observed / usual).min(1.0);
    let unusual = (observed - usual).max(0.0);
    let mut parts = Vec::with_capacity(candidates.len());
    for Candidate { instruction, cost } in candidates {
        let cycles = cost.mean * scale + unusual * cost.room() / room;
        to.at[instruction.index()] += weight.share(cycles / observed);
        // At one extreme it cost as much as it can, at the other the others did.
        let high = cost.most.clamp(cycles, observed.max(cycles));
        let low = (observed - (most - cost.most)).clamp(0.0, cycles);
        let range = (high - cycles).max(cycles - low);
        parts.push(Part { instruction: *instruction, variance: (range / NORMAL_RANGE).powi(2) });
    }
    let variance = parts.iter().map(|part| part.variance).sum();
    to.splits.push(Split { parts, variance });
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
    Some(Candidate { instruction: last, cost: each.times(edge.count as f64).and(wrong) })
}

/// A loop of one block takes at least a cycle a round, because a core takes one branch a cycle; what
/// its other instructions do not account for is the branch's, which may be fused with all of them.
fn rest_of_round(samples: &Samples, block: &crate::code::ExecutedBlock) -> f64 {
    let inside: f64 = block.instructions().skip(1).map(|id| samples.at[id.index()].cycles).sum();
    1.0 - inside / block.executions.max(1) as f64
}
