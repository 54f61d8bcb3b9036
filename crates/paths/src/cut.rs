//! Where paths end though control goes on: edges that are cut, so that what is left has no cycle.

use crate::cfg::{Cfg, EdgeId};
use timewise_flow::dominators::Dominators;

/// For each edge of a [`Cfg`], whether a path that comes to it ends there and another one begins behind it.
pub type Cuts = Vec<bool>;

/// Back edges: those that a depth-first search from the entry finds to lead to a block that it has not left yet.
/// Without them no cycle is left, also in graphs that are irreducible.
pub fn back_edges(cfg: &Cfg) -> Cuts {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Unseen,
        Open,
        Done,
    }
    let mut cuts = vec![false; cfg.edges.len()];
    let mut state = vec![State::Unseen; cfg.nodes() as usize];
    let mut stack = vec![(cfg.entry(), 0)];
    state[cfg.entry() as usize] = State::Open;
    while let Some((node, next)) = stack.last_mut() {
        let Some(&id) = cfg.out(*node).get(*next) else {
            state[*node as usize] = State::Done;
            stack.pop();
            continue;
        };
        *next += 1;
        let to = cfg.edge(id).to;
        match state[to as usize] {
            State::Unseen => {
                state[to as usize] = State::Open;
                stack.push((to, 0));
            }
            State::Open => cuts[id.index()] = true,
            State::Done => {}
        }
    }
    cuts
}

/// Cuts loops off that go round often (TPP, section 4.2.1): of each loop whose header is entered from outside in
/// less than `percent` of its executions, all edges into and out of the loop, so that its body is a region of its
/// own.
pub fn disconnect_loops(cfg: &Cfg, back: &Cuts, percent: u32) -> Cuts {
    let mut cuts = back.clone();
    for (header, body) in natural_loops(cfg, back) {
        let is_entry = |id: &&EdgeId| !body[cfg.edge(**id).from as usize];
        let entered: u64 = cfg.into(header).iter().filter(is_entry).map(|&id| cfg.edge(id).count).sum();
        if u128::from(entered) * 100 >= u128::from(cfg.executions(header)) * u128::from(percent) {
            continue;
        }
        for id in cfg.ids() {
            let edge = cfg.edge(id);
            let crosses = body[edge.from as usize] != body[edge.to as usize];
            // What comes from outside the routine, or goes there, begins or ends a path anyway.
            if crosses && edge.from != cfg.entry() && edge.to != cfg.exit() {
                cuts[id.index()] = true;
            }
        }
    }
    cuts
}

/// Headers that dominate the sources of all back edges to them, each with the blocks of its loop.
fn natural_loops(cfg: &Cfg, back: &Cuts) -> Vec<(u32, Vec<bool>)> {
    let nodes = 0..cfg.nodes();
    let ends = |ids: &[EdgeId], end: fn(&Cfg, EdgeId) -> u32| ids.iter().map(|&id| end(cfg, id)).collect();
    let successors: Vec<Vec<u32>> =
        nodes.clone().map(|node| ends(cfg.out(node), |cfg, id| cfg.edge(id).to)).collect();
    let predecessors: Vec<Vec<u32>> =
        nodes.map(|node| ends(cfg.into(node), |cfg, id| cfg.edge(id).from)).collect();
    let dominators = Dominators::new(&successors, &predecessors, &[cfg.entry()]);
    let mut loops = Vec::new();
    for header in 0..cfg.blocks() {
        let tails = cfg.into(header).iter().filter(|id| back[id.index()]).map(|&id| cfg.edge(id).from);
        let tails: Vec<u32> = tails.collect();
        if tails.is_empty() || !tails.iter().all(|&tail| dominators.dominates(header, tail)) {
            continue;
        }
        let mut body = vec![false; cfg.nodes() as usize];
        body[header as usize] = true;
        let mut open = tails;
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut body[node as usize], true) {
                open.extend(&predecessors[node as usize]);
            }
        }
        loops.push((header, body));
    }
    loops
}
