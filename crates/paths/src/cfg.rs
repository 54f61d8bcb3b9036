//! The control-flow graph that paths run through, with an entry and an exit of its own.

use std::collections::HashMap;

/// Index into [`Cfg::edges`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EdgeId(pub u32);

impl EdgeId {
    /// Position in the list that this id indexes.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where control can go, and how often it went there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Where from: a block, or [`Cfg::entry`].
    pub from: u32,
    /// Where to: a block, or [`Cfg::exit`].
    pub to: u32,
    /// How often, by an edge profile.
    pub count: u64,
}

/// A routine: blocks `0..blocks`, and behind them two nodes that stand for all that is outside. Each block that
/// control enters the routine at has an edge from the entry, each block that it leaves from one to the exit.
///
/// Every block is reached from the entry and reaches the exit: where the edges given do not see to that, an edge
/// of count 0 from or to outside is added, so a loop without an end is a routine like any other.
#[derive(Clone, Debug)]
pub struct Cfg {
    blocks: u32,
    /// All edges; no two of them join the same nodes in the same direction.
    pub edges: Vec<Edge>,
    out: Vec<Vec<EdgeId>>,
    into: Vec<Vec<EdgeId>>,
    by_ends: HashMap<(u32, u32), EdgeId>,
}

impl Cfg {
    /// The graph of so many blocks with these edges; `None` as an end is outside.
    pub fn new(blocks: u32, edges: impl IntoIterator<Item = (Option<u32>, Option<u32>, u64)>) -> Cfg {
        let nodes = blocks as usize + 2;
        let (out, into) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
        let mut cfg = Cfg { blocks, edges: Vec::new(), out, into, by_ends: HashMap::new() };
        for (from, to, count) in edges {
            cfg.add(from.unwrap_or(cfg.entry()), to.unwrap_or(cfg.exit()), count);
        }
        cfg.join_strays();
        cfg
    }

    /// The node before all blocks.
    pub fn entry(&self) -> u32 {
        self.blocks
    }

    /// The node behind all blocks.
    pub fn exit(&self) -> u32 {
        self.blocks + 1
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Number of nodes: the blocks, the entry and the exit.
    pub fn nodes(&self) -> u32 {
        self.blocks + 2
    }

    /// An edge by id.
    pub fn edge(&self, id: EdgeId) -> Edge {
        self.edges[id.index()]
    }

    /// Ids of all edges.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = EdgeId> + use<> {
        (0..self.edges.len() as u32).map(EdgeId)
    }

    /// Edges that leave a node.
    pub fn out(&self, node: u32) -> &[EdgeId] {
        &self.out[node as usize]
    }

    /// Edges that lead to a node.
    pub fn into(&self, node: u32) -> &[EdgeId] {
        &self.into[node as usize]
    }

    /// The edge between two nodes.
    pub fn find(&self, from: u32, to: u32) -> Option<EdgeId> {
        self.by_ends.get(&(from, to)).copied()
    }

    /// How often control left a node; for the exit, how often it came there.
    pub fn executions(&self, node: u32) -> u64 {
        let edges = if node == self.exit() { self.into(node) } else { self.out(node) };
        edges.iter().fold(0, |sum: u64, &id| sum.saturating_add(self.edge(id).count))
    }

    /// Nodes that some nodes lead to over edges that `follow` admits, they included; against the edges if
    /// `backward`.
    pub fn reach(
        &self,
        from: impl IntoIterator<Item = u32>,
        backward: bool,
        follow: impl Fn(EdgeId) -> bool,
    ) -> Vec<bool> {
        let mut reached = vec![false; self.nodes() as usize];
        let mut open: Vec<u32> = from.into_iter().collect();
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut reached[node as usize], true) {
                continue;
            }
            let edges = if backward { self.into(node) } else { self.out(node) };
            let next = |&id: &EdgeId| if backward { self.edge(id).from } else { self.edge(id).to };
            open.extend(edges.iter().filter(|&&id| follow(id)).map(next));
        }
        reached
    }

    /// The same graph with other counts.
    pub fn recounted(&self, count: impl Fn(&Edge) -> u64) -> Cfg {
        let mut cfg = self.clone();
        cfg.edges.iter_mut().for_each(|edge| edge.count = count(edge));
        cfg
    }

    fn add(&mut self, from: u32, to: u32, count: u64) {
        if let Some(&known) = self.by_ends.get(&(from, to)) {
            let edge = &mut self.edges[known.index()];
            edge.count = edge.count.saturating_add(count);
            return;
        }
        let id = EdgeId(self.edges.len() as u32);
        self.edges.push(Edge { from, to, count });
        self.out[from as usize].push(id);
        self.into[to as usize].push(id);
        self.by_ends.insert((from, to), id);
    }

    /// Joins blocks that the entry does not lead to, or that do not lead to the exit.
    fn join_strays(&mut self) {
        let mut reached = self.reach([self.entry()], false, |_| true);
        for block in 0..self.blocks {
            if !reached[block as usize] {
                self.add(self.entry(), block, 0);
                let more = self.reach([block], false, |_| true);
                reached.iter_mut().zip(more).for_each(|(known, new)| *known |= new);
            }
        }
        let mut reaching = self.reach([self.exit()], true, |_| true);
        for block in (0..self.blocks).rev() {
            if !reaching[block as usize] {
                self.add(block, self.exit(), 0);
                let more = self.reach([block], true, |_| true);
                reaching.iter_mut().zip(more).for_each(|(known, new)| *known |= new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_without_an_end_gets_one() {
        let cfg = Cfg::new(3, [(None, Some(0), 1), (Some(0), Some(1), 1), (Some(1), Some(0), 9)]);
        assert!(cfg.find(cfg.entry(), 2).is_some() && cfg.find(2, cfg.exit()).is_some());
        assert!(cfg.reach([cfg.entry()], false, |_| true).into_iter().all(|reached| reached));
        assert!(cfg.reach([cfg.exit()], true, |_| true).into_iter().all(|reaches| reaches));
        assert_eq!(cfg.executions(1), 9);
    }
}
