//! What calls cost, between pieces.

use super::partition::Partition;
use super::pieces::PieceId;
use crate::harvest::Area;
use std::collections::HashMap;
use timewise_abi::NONE;
use timewise_abi::log::{BRIEF, EdgeRecord};
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

/// What the calls of a process image cost, whose blocks are these pieces, and how many of them nobody saw end
/// whose costs count up to the end of the process.
pub fn costs(edges: &[EdgeRecord], pieces: &[PieceId], areas: &[Area]) -> (Vec<Cost>, u64) {
    // A call whose target was replaced by other code has one counter for all: the first is charged.
    let mut known: HashMap<u32, (usize, bool)> = HashMap::new();
    let mut costs = Vec::new();
    for edge in edges.iter().filter(|edge| edge.cost != NONE && edge.from != NONE && edge.to != NONE) {
        known.entry(edge.cost & !BRIEF).or_insert_with(|| {
            let (from, to) = (pieces[edge.from as usize], pieces[edge.to as usize]);
            costs.push(Cost { from, to, instructions: 0 });
            (costs.len() - 1, edge.cost & BRIEF != 0)
        });
    }
    let mut open = 0;
    for area in areas {
        for &(counter, value) in &area.counters {
            if let Some(&(cost, _)) = known.get(&counter) {
                costs[cost].instructions = costs[cost].instructions.wrapping_add(value);
            }
        }
        for &(counter, value) in &area.below_zero {
            if let Some(&(cost, is_brief)) = known.get(&counter) {
                // While it lasts, such a call's cost is less by the clock than it will be.
                let until_the_end = if is_brief { area.clock } else { 0 };
                open += u64::from(is_brief);
                let sum = costs[cost].instructions.wrapping_add(value).wrapping_add(until_the_end);
                costs[cost].instructions = sum;
            }
        }
    }
    (costs, open)
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
