//! What calls cost, between pieces.

use super::partition::Partition;
use super::pieces::PieceId;
use crate::harvest::Area;
use std::collections::HashMap;
use timewise_abi::NONE;
use timewise_abi::log::EdgeRecord;
use timewise_profile::{BlockId, CallCost, ProcessId};

/// What calls from the end of one piece to the start of another cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The piece that ends in the call.
    pub from: PieceId,
    /// The piece that it led to.
    pub to: PieceId,
    /// Instructions, modulo 2⁶⁴ while not all threads are added up.
    pub instructions: u64,
}

/// What the calls of a process image cost, whose blocks are these pieces.
pub fn costs(edges: &[EdgeRecord], pieces: &[PieceId], areas: &[Area]) -> Vec<Cost> {
    // A call whose target was replaced by other code has one counter for all: the first is charged.
    let mut known: HashMap<u32, usize> = HashMap::new();
    let mut costs = Vec::new();
    for edge in edges.iter().filter(|edge| edge.cost != NONE && edge.from != NONE && edge.to != NONE) {
        known.entry(edge.cost).or_insert_with(|| {
            let (from, to) = (pieces[edge.from as usize], pieces[edge.to as usize]);
            costs.push(Cost { from, to, instructions: 0 });
            costs.len() - 1
        });
    }
    for &(counter, value) in areas.iter().flat_map(|area| area.counters.iter().chain(&area.below_zero)) {
        if let Some(&cost) = known.get(&counter) {
            costs[cost].instructions = costs[cost].instructions.wrapping_add(value);
        }
    }
    costs
}

/// Adds up costs of the same calls.
pub fn merge(costs: &mut Vec<Cost>) {
    costs.sort_unstable_by_key(|cost| (cost.from, cost.to));
    costs.dedup_by(|next, sum| {
        let same = (next.from, next.to) == (sum.from, sum.to);
        if same {
            sum.instructions = sum.instructions.wrapping_add(next.instructions);
        }
        same
    });
}

/// The rows of a process, of costs that were merged. What is below zero belongs to calls that nobody saw
/// end.
pub fn rows<'a>(
    costs: &'a [Cost],
    partition: &'a Partition,
    process: ProcessId,
) -> impl Iterator<Item = CallCost> + 'a {
    costs.iter().filter_map(move |cost| {
        let site = partition.segments(cost.from).last()?.block;
        let callee = partition.segments(cost.to).first()?.block;
        let instructions = u64::try_from(cost.instructions as i64).ok().filter(|&n| n > 0)?;
        Some(CallCost { site: BlockId(site), callee: BlockId(callee), process, instructions })
    })
}
