//! From the values of edges to increments on few of them (Ball: Efficiently Counting Program Events with Support
//! for On-line Queries).

use crate::dag::{Dag, DagEdgeId, Origin};

/// The increment of each edge that is no edge of the spanning tree; over each path they add up to what the values
/// add up to. Only edges that are `kept` take part. The tree takes the most executed edges first; dummies, on which
/// there is something to do anyway, last.
pub fn increments(dag: &Dag, values: &[u64], kept: &[bool]) -> Vec<Option<i64>> {
    let nodes = dag.exit() as usize + 1;
    let mut sorted: Vec<DagEdgeId> = dag.ids().filter(|id| kept[id.index()]).collect();
    let weight = |id: &DagEdgeId| match dag.edge(*id).origin {
        Origin::Whole(_) => Some(dag.edge(*id).count),
        Origin::Start | Origin::End => None,
    };
    sorted.sort_by_key(|id| (std::cmp::Reverse(weight(id)), *id));
    let mut forest = Forest { parent: (0..nodes as u32).collect() };
    // A path ends where it began: the edge from the exit to the entry is in the tree.
    forest.join(dag.exit(), dag.entry());
    let mut tree = vec![Vec::new(); nodes];
    let mut in_tree = vec![false; dag.edges.len()];
    for id in sorted {
        let edge = dag.edge(id);
        if forest.join(edge.from, edge.to) {
            in_tree[id.index()] = true;
            tree[edge.from as usize].push((edge.to, values[id.index()] as i64));
            tree[edge.to as usize].push((edge.from, (values[id.index()] as i64).wrapping_neg()));
        }
    }
    tree[dag.entry() as usize].push((dag.exit(), 0));
    // What the register would lack at each node if only edges outside of the tree counted.
    let mut owed: Vec<Option<i64>> = vec![None; nodes];
    for root in [dag.entry()].into_iter().chain(0..dag.entry()) {
        let mut open = vec![(root, 0i64)];
        while let Some((node, value)) = open.pop() {
            if owed[node as usize].is_none() {
                owed[node as usize] = Some(value);
                open.extend(tree[node as usize].iter().map(|&(next, step)| (next, value.wrapping_add(step))));
            }
        }
    }
    let owed = |node: u32| owed[node as usize].unwrap_or(0);
    let increment = |id: DagEdgeId| {
        let edge = dag.edge(id);
        let is_chord = kept[id.index()] && !in_tree[id.index()];
        let off = owed(edge.from).wrapping_sub(owed(edge.to));
        is_chord.then(|| (values[id.index()] as i64).wrapping_add(off))
    };
    dag.ids().map(increment).collect()
}

/// Sets of nodes that are joined.
struct Forest {
    parent: Vec<u32>,
}

impl Forest {
    fn find(&mut self, mut node: u32) -> u32 {
        while self.parent[node as usize] != node {
            let above = self.parent[self.parent[node as usize] as usize];
            self.parent[node as usize] = above;
            node = above;
        }
        node
    }

    /// Joins the sets of two nodes; false if they are one already.
    fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a as usize] = b;
        a != b
    }
}
