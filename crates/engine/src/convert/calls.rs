//! What calls cost, between pieces.

use super::flow::Flow;
use super::partition::Partition;
use super::pieces::PieceId;
use crate::harvest::Area;
use std::collections::{HashMap, HashSet};
use timewise_abi::NONE;
use timewise_abi::log::{BRIEF, EdgeRecord, HELD, SLOT};
use timewise_profile::{BlockId, CallCost, EdgeKind, ProcessId};

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

/// Counters that say something of an edge's calls: what they cost, and, if it may have one, whether a call lasts still.
pub fn counters(edge: &EdgeRecord) -> Option<(u32, Option<u32>)> {
    let counter = edge.cost & !(BRIEF | HELD);
    let slot = (edge.cost & HELD != 0).then_some(counter.wrapping_add(SLOT));
    (edge.cost != NONE).then_some((counter, slot))
}

/// What the calls of a process image cost, whose blocks are pieces, and whose edges were taken as its flows say, and
/// how many of them nobody saw end whose costs count up to the end of the process.
///
/// What is found of a call that was not made is left out: a thread was in it when the process was attached to, or was
/// killed on its way into it. A process that was forked may have made its calls before.
pub fn costs(
    (edges, flows): (&[EdgeRecord], &[Flow]),
    piece: impl Fn(u32) -> PieceId,
    areas: &[Area],
    is_forked: bool,
) -> (Vec<Cost>, u64) {
    // A call whose target was replaced by other code has one counter for all: the first is charged.
    let mut known: HashMap<u32, (usize, bool)> = HashMap::new();
    let mut costs = Vec::new();
    let mut was_made = Vec::new();
    let mut slots = HashSet::new();
    let calls = flows.iter().filter(|flow| matches!(flow.kind, EdgeKind::Call | EdgeKind::IndirectCall));
    let made: HashSet<(PieceId, PieceId)> = calls.filter_map(|flow| Some((flow.from?.0, flow.to?))).collect();
    for edge in edges {
        let Some((counter, slot)) = counters(edge).filter(|_| edge.from != NONE && edge.to != NONE) else {
            continue;
        };
        slots.extend(slot);
        let (from, to) = (piece(edge.from), piece(edge.to));
        let &mut (cost, _) = known.entry(counter).or_insert_with(|| {
            costs.push(Cost { from, to, instructions: 0 });
            was_made.push(is_forked);
            (costs.len() - 1, edge.cost & BRIEF != 0)
        });
        was_made[cost] |= made.contains(&(from, to));
    }
    let mut open = 0;
    for area in areas {
        for &(counter, value) in &area.counters {
            if let Some(&(cost, _)) = known.get(&counter) {
                costs[cost].instructions = costs[cost].instructions.wrapping_add(value);
            }
            open += u64::from(slots.contains(&counter));
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
    let mut was_made = was_made.into_iter();
    costs.retain(|cost| was_made.next() == Some(true) && cost.instructions != 0);
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

#[cfg(test)]
mod tests {
    use super::super::flow;
    use super::*;
    use timewise_abi::log::edge_kind;

    #[test]
    fn calls_that_were_not_made_cost_nothing() {
        let call = |from, to, cost| EdgeRecord {
            from,
            to,
            counter: NONE,
            executed: 1,
            kind: edge_kind::CALL,
            step: 0,
            cost,
        };
        let edges = [call(0, 1, 1 | BRIEF), call(1, 2, 2), call(1, 2, 2)];
        let area = Area {
            offset: 0,
            tid: 1,
            state: 0,
            position: NONE,
            lost_calls: 0,
            clock: 100,
            counters: vec![(1, 7), (2, 30)],
            below_zero: Vec::new(),
        };
        let flow = |(edge, count): (&EdgeRecord, u64)| Flow {
            from: Some((PieceId(edge.from), 1)),
            to: Some(PieceId(edge.to)),
            kind: EdgeKind::Call,
            count,
        };
        let of = |taken: [u64; 3], is_forked| {
            let mut flows: Vec<Flow> = edges.iter().zip(taken).map(flow).collect();
            flow::merge(&mut flows);
            let (costs, open) = costs((&edges, &flows), PieceId, std::slice::from_ref(&area), is_forked);
            assert_eq!(open, 0);
            costs.iter().map(|cost| (cost.from.0, cost.instructions)).collect::<Vec<_>>()
        };
        assert_eq!(of([1, 1, 0], false), [(0, 7), (1, 30)]);
        assert_eq!(of([0, 0, 2], false), [(1, 30)]);
        assert_eq!(of([0, 0, 0], true), [(0, 7), (1, 30)]);
    }
}
