//! Where recursion may have been counted otherwise than functions are told apart here.

use crate::analysis::Analysis;
use crate::graph::is_call;
use crate::routine::RoutineId;
use crate::strong::cyclic_components;
use std::collections::{BTreeMap, BTreeSet};
use timewise_profile::EdgeKind;

/// How a routine is entered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Entry {
    /// By a call of an offset.
    Call(u64),
    /// By a jump or the like from another routine.
    Jump,
}

/// Routines that no function of the profile tells of, that may call themselves by way of whatever others, and that are
/// entered otherwise than by calls of one place. To the counting runtime, which knows no more of such code than where
/// calls led, an activation is one of whatever was called, so some of what calls in it cost may be counted twice.
pub(crate) fn doubtful(analysis: &Analysis) -> Vec<RoutineId> {
    let mut leads: BTreeSet<(u32, u32)> = BTreeSet::new();
    let mut entries: BTreeMap<RoutineId, BTreeSet<Entry>> = BTreeMap::new();
    for edge in analysis.code.edges.iter().filter(|edge| edge.count > 0) {
        let (Some(from), Some(to)) = (edge.from, edge.to) else { continue };
        let [caller, callee] = [from, to].map(|block| analysis.owner[block.index()]);
        let entry = match edge.kind {
            kind if is_call(kind) => Entry::Call(analysis.code.blocks[to.index()].place.offset.0),
            EdgeKind::Return => continue,
            _ if caller == callee => continue,
            _ => Entry::Jump,
        };
        leads.insert((caller.0, callee.0));
        if analysis.routines[callee.index()].function.is_none() {
            entries.entry(callee).or_default().insert(entry);
        }
    }
    let is_doubtful = |entries: &BTreeSet<Entry>| entries.len() > 1 || entries.contains(&Entry::Jump);
    entries.retain(|_, entries| is_doubtful(entries));
    if entries.is_empty() {
        return Vec::new();
    }
    let nodes: Vec<u32> = (0..analysis.routines.len() as u32).collect();
    let successors = |node: u32| leads.range((node, 0)..=(node, u32::MAX)).map(|&(_, to)| to);
    let cyclic = cyclic_components(&nodes, nodes.len(), successors).into_iter().flatten().map(RoutineId);
    cyclic.filter(|routine| entries.contains_key(routine)).collect()
}
