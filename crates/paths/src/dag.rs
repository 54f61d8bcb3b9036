//! What is left of a routine when edges are cut and cold ones left out: a graph without cycles, in which every way
//! from the entry to the exit is a path.
//!
//! A cut edge is replaced by two dummy edges, one from its source to the exit and one from the entry to its target.
//! Those of several cut edges with the same source, or the same target, are one.

use crate::cfg::{Cfg, EdgeId};
use crate::cut::Cuts;

/// Index into [`Dag::edges`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DagEdgeId(pub u32);

impl DagEdgeId {
    /// Position in the list that this id indexes.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an edge stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Origin {
    /// An edge of the routine that was not cut.
    Whole(EdgeId),
    /// From the entry: all cut edges that lead to its target.
    Start,
    /// To the exit: all cut edges that leave its source.
    End,
}

/// An edge of the graph without cycles.
#[derive(Clone, Copy, Debug)]
pub struct DagEdge {
    /// Where from.
    pub from: u32,
    /// Where to.
    pub to: u32,
    /// How often, by the edge profile.
    pub count: u64,
    /// What it stands for.
    pub origin: Origin,
}

/// The graph without cycles; nodes are those of the [`Cfg`].
#[derive(Clone, Debug)]
pub struct Dag {
    /// All edges; each lies on a way from the entry to the exit.
    pub edges: Vec<DagEdge>,
    out: Vec<Vec<DagEdgeId>>,
    into: Vec<Vec<DagEdgeId>>,
    /// Nodes in an order in which every edge leads forward.
    order: Vec<u32>,
    whole: Vec<Option<DagEdgeId>>,
    start: Vec<Option<DagEdgeId>>,
    end: Vec<Option<DagEdgeId>>,
}

impl Dag {
    /// Takes the edges that are neither cut nor cold, and dummies for those that are cut but not cold. Then what
    /// lies on no way from the entry to the exit is cold as well (TPP, section 4.1.1) and left out. `cold` gets
    /// those edges added.
    pub fn new(cfg: &Cfg, cuts: &Cuts, cold: &mut [bool]) -> Dag {
        spread(cfg, cuts, cold);
        let nodes = cfg.nodes() as usize;
        let mut dag = Dag {
            edges: Vec::new(),
            out: vec![Vec::new(); nodes],
            into: vec![Vec::new(); nodes],
            order: Vec::new(),
            whole: vec![None; cfg.edges.len()],
            start: vec![None; nodes],
            end: vec![None; nodes],
        };
        let taken = |&&id: &&EdgeId| !cold[id.index()];
        for node in [cfg.entry()].into_iter().chain(0..cfg.blocks()) {
            for &id in cfg.out(node).iter().filter(taken).filter(|id| !cuts[id.index()]) {
                let edge = cfg.edge(id);
                dag.whole[id.index()] = Some(dag.add(edge.from, edge.to, edge.count, Origin::Whole(id)));
            }
            if cfg.out(node).iter().filter(taken).any(|id| cuts[id.index()]) {
                let count = cut_count(cfg, cfg.out(node), cuts);
                dag.end[node as usize] = Some(dag.add(node, cfg.exit(), count, Origin::End));
            }
            if cfg.into(node).iter().filter(taken).any(|id| cuts[id.index()]) {
                let count = cut_count(cfg, cfg.into(node), cuts);
                dag.start[node as usize] = Some(dag.add(cfg.entry(), node, count, Origin::Start));
            }
        }
        dag.sort(cfg);
        dag
    }

    /// An edge by id.
    pub fn edge(&self, id: DagEdgeId) -> DagEdge {
        self.edges[id.index()]
    }

    /// Ids of all edges.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = DagEdgeId> + use<> {
        (0..self.edges.len() as u32).map(DagEdgeId)
    }

    /// Edges that leave a node.
    pub fn out(&self, node: u32) -> &[DagEdgeId] {
        &self.out[node as usize]
    }

    /// Edges that lead to a node.
    pub fn into(&self, node: u32) -> &[DagEdgeId] {
        &self.into[node as usize]
    }

    /// Nodes in an order in which every edge leads forward.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// What an edge of the routine that was not cut became; `None` if it was cut or is cold.
    pub fn whole(&self, id: EdgeId) -> Option<DagEdgeId> {
        self.whole[id.index()]
    }

    /// The dummy from the entry to a node.
    pub fn start(&self, node: u32) -> Option<DagEdgeId> {
        self.start[node as usize]
    }

    /// The dummy from a node to the exit.
    pub fn end(&self, node: u32) -> Option<DagEdgeId> {
        self.end[node as usize]
    }

    /// The node before all others.
    pub fn entry(&self) -> u32 {
        self.out.len() as u32 - 2
    }

    /// The node behind all others.
    pub fn exit(&self) -> u32 {
        self.out.len() as u32 - 1
    }

    /// Whether a node lies on a path.
    pub fn holds(&self, node: u32) -> bool {
        !self.out(node).is_empty() || !self.into(node).is_empty()
    }

    /// How many ways there are from each node to the exit, over edges that `keep` admits; as many as fit.
    pub fn ways_out(&self, keep: impl Fn(DagEdgeId) -> bool) -> Vec<u128> {
        let mut ways = vec![0u128; self.out.len()];
        for &node in self.order.iter().rev() {
            let next =
                self.out(node).iter().filter(|&&id| keep(id)).map(|&id| ways[self.edge(id).to as usize]);
            let sum = next.fold(0, u128::saturating_add);
            ways[node as usize] = if node == self.exit() { 1 } else { sum };
        }
        ways
    }

    /// Likewise, from the entry to each node.
    pub fn ways_in(&self) -> Vec<u128> {
        let mut ways = vec![0u128; self.out.len()];
        for &node in &self.order {
            let before = self.into(node).iter().map(|&id| ways[self.edge(id).from as usize]);
            let sum = before.fold(0, u128::saturating_add);
            ways[node as usize] = if node == self.entry() { 1 } else { sum };
        }
        ways
    }

    fn add(&mut self, from: u32, to: u32, count: u64, origin: Origin) -> DagEdgeId {
        let id = DagEdgeId(self.edges.len() as u32);
        self.edges.push(DagEdge { from, to, count, origin });
        self.out[from as usize].push(id);
        self.into[to as usize].push(id);
        id
    }

    /// Orders the nodes, the entry first and the exit last.
    fn sort(&mut self, cfg: &Cfg) {
        let mut waiting: Vec<usize> = self.into.iter().map(Vec::len).collect();
        let mut open = vec![cfg.entry()];
        while let Some(node) = open.pop() {
            self.order.push(node);
            for &id in self.out[node as usize].iter().rev() {
                let to = self.edges[id.index()].to;
                waiting[to as usize] -= 1;
                if waiting[to as usize] == 0 && to != cfg.exit() {
                    open.push(to);
                }
            }
        }
        self.order.push(cfg.exit());
    }
}

fn cut_count(cfg: &Cfg, edges: &[EdgeId], cuts: &Cuts) -> u64 {
    let cut = edges.iter().filter(|id| cuts[id.index()]);
    cut.fold(0, |sum: u64, &id| sum.saturating_add(cfg.edge(id).count))
}

/// Marks all edges as cold that lie on no way from the entry to the exit of edges that are not. A cut edge lies on
/// none itself, but ends a way that leads to it and begins one from where it leads.
fn spread(cfg: &Cfg, cuts: &Cuts, cold: &mut [bool]) {
    loop {
        let alive = |id: EdgeId| !cold[id.index()];
        let starts = |node: u32| cfg.into(node).iter().any(|&id| cuts[id.index()] && alive(id));
        let ends = |node: u32| cfg.out(node).iter().any(|&id| cuts[id.index()] && alive(id));
        let first = [cfg.entry()].into_iter().chain((0..cfg.blocks()).filter(|&node| starts(node)));
        let forward = cfg.reach(first, false, |id| alive(id) && !cuts[id.index()]);
        let last = [cfg.exit()].into_iter().chain((0..cfg.blocks()).filter(|&node| ends(node)));
        let backward = cfg.reach(last, true, |id| alive(id) && !cuts[id.index()]);
        let on_a_way = |node: u32| forward[node as usize] && backward[node as usize];
        let dead = |&id: &EdgeId| {
            let edge = cfg.edge(id);
            alive(id) && !(on_a_way(edge.from) && on_a_way(edge.to))
        };
        let dead: Vec<EdgeId> = cfg.ids().filter(dead).collect();
        if dead.is_empty() {
            return;
        }
        dead.into_iter().for_each(|id| cold[id.index()] = true);
    }
}
