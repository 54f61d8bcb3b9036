//! Paths whose counts an edge profile tells, and what need not be instrumented for that (TPP, section 4.2.2).

use crate::dag::{Dag, DagEdgeId};
use std::collections::BTreeMap;

/// What follows from obvious paths.
#[derive(Clone, Debug)]
pub struct Obvious {
    /// Edges that lead on to a recording point which is still needed.
    pub kept: Vec<bool>,
    /// Paths that are not recorded, as edges, and how often each was taken at most.
    pub paths: Vec<(Vec<DagEdgeId>, u64)>,
}

/// For each edge, whether it lies on a single path.
pub fn defining_edges(dag: &Dag) -> Vec<bool> {
    let (before, behind) = (dag.ways_in(), dag.ways_out(|_| true));
    let is_defining = |id| {
        let edge = dag.edge(id);
        before[edge.from as usize] == 1 && behind[edge.to as usize] == 1
    };
    dag.ids().map(is_defining).collect()
}

/// For each edge, whether it leads to the exit and only obvious paths end with it (TPP, figure 8): no path without
/// a defining edge comes there.
pub fn obvious_recording_points(dag: &Dag, defining: &[bool]) -> Vec<bool> {
    let mut obvious = vec![false; dag.edges.len()];
    for &id in dag.into(dag.exit()) {
        obvious[id.index()] = true;
    }
    let mut seen = vec![false; dag.exit() as usize + 1];
    let mut open = vec![dag.entry()];
    while let Some(node) = open.pop() {
        if std::mem::replace(&mut seen[node as usize], true) {
            continue;
        }
        for &id in dag.out(node).iter().filter(|id| !defining[id.index()]) {
            obvious[id.index()] = false;
            open.push(dag.edge(id).to);
        }
    }
    obvious
}

impl Obvious {
    /// Nothing is obvious: everything is kept.
    pub fn nothing(dag: &Dag) -> Obvious {
        Obvious { kept: vec![true; dag.edges.len()], paths: Vec::new() }
    }

    /// Finds all obvious paths that no other path shares a recording point with, and the edges that are left.
    pub fn new(dag: &Dag) -> Obvious {
        let defining = defining_edges(dag);
        let points = obvious_recording_points(dag, &defining);
        let mut kept = vec![false; dag.edges.len()];
        let mut leads_on = vec![false; dag.exit() as usize + 1];
        for &node in dag.order().iter().rev() {
            for &id in dag.out(node) {
                let to = dag.edge(id).to;
                let needed = if to == dag.exit() { !points[id.index()] } else { leads_on[to as usize] };
                kept[id.index()] = needed;
                leads_on[node as usize] |= needed;
            }
        }
        let mut paths: BTreeMap<Vec<DagEdgeId>, u64> = BTreeMap::new();
        for id in dag.ids().filter(|id| defining[id.index()]) {
            let path = path_over(dag, id);
            if path.last().is_some_and(|last| points[last.index()]) {
                // Of several defining edges the least taken one tells most.
                let count = dag.edge(id).count;
                let least = paths.entry(path).or_insert(count);
                *least = count.min(*least);
            }
        }
        Obvious { kept, paths: paths.into_iter().collect() }
    }
}

/// The path that a defining edge lies on.
fn path_over(dag: &Dag, defining: DagEdgeId) -> Vec<DagEdgeId> {
    let mut path = vec![defining];
    let mut node = dag.edge(defining).from;
    while let Some(&before) = dag.into(node).first() {
        path.push(before);
        node = dag.edge(before).from;
    }
    path.reverse();
    node = dag.edge(defining).to;
    while let Some(&next) = dag.out(node).first() {
        path.push(next);
        node = dag.edge(next).to;
    }
    path
}
