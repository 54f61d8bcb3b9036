//! Path numbers: what each edge adds to them, and which path a number is.

use crate::dag::{Dag, DagEdgeId, Origin};

/// A path through a routine: blocks in order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// Its blocks.
    pub blocks: Vec<u32>,
    /// It begins where control entered the routine, else behind a cut.
    pub entered: bool,
    /// It ends where control left the routine, else at a cut.
    pub left: bool,
}

/// A graph without cycles whose paths are numbered from 0 on, without gaps.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// The graph.
    pub dag: Dag,
    /// Edges that numbered paths may have.
    pub kept: Vec<bool>,
    /// What each edge adds to the number of a path.
    pub values: Vec<u64>,
    paths: u64,
}

impl Decoder {
    /// Numbers all paths of edges that are kept: from each node, the first edge's paths come first.
    pub fn new(dag: Dag, kept: Vec<bool>) -> Decoder {
        let ways = dag.ways_out(|id| kept[id.index()]);
        let mut values = vec![0; dag.edges.len()];
        for &node in dag.order() {
            let mut sum = 0u128;
            for &id in dag.out(node).iter().filter(|id| kept[id.index()]) {
                values[id.index()] = u64::try_from(sum).unwrap_or(u64::MAX);
                sum = sum.saturating_add(ways[dag.edge(id).to as usize]);
            }
        }
        let has_paths = dag.out(dag.entry()).iter().any(|id| kept[id.index()]);
        let paths = if has_paths { ways[dag.entry() as usize] } else { 0 };
        Decoder { dag, kept, values, paths: u64::try_from(paths).unwrap_or(u64::MAX) }
    }

    /// Number of paths.
    pub fn paths(&self) -> u64 {
        self.paths
    }

    /// The path of a number; `None` if there is none.
    pub fn decode(&self, number: u64) -> Option<Path> {
        let mut rest = number;
        let mut node = self.dag.entry();
        let mut edges = Vec::new();
        while node != self.dag.exit() {
            let fits = |id: &&DagEdgeId| self.kept[id.index()] && self.values[id.index()] <= rest;
            let &id = self.dag.out(node).iter().rev().find(fits)?;
            rest -= self.values[id.index()];
            edges.push(id);
            node = self.dag.edge(id).to;
        }
        (rest == 0 && number < self.paths).then(|| self.path(&edges))
    }

    /// The path that consists of these edges.
    pub fn path(&self, edges: &[DagEdgeId]) -> Path {
        let whole = |id: Option<&DagEdgeId>| {
            id.is_some_and(|&id| matches!(self.dag.edge(id).origin, Origin::Whole(_)))
        };
        let blocks = edges.iter().map(|&id| self.dag.edge(id).to).filter(|&node| node != self.dag.exit());
        Path { blocks: blocks.collect(), entered: whole(edges.first()), left: whole(edges.last()) }
    }
}
