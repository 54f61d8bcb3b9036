//! The dynamic control-flow graph of each routine: only what ran, with counts.
//!
//! Calls and returns are not edges of it; a block that ends in a call leads to the place where the
//! call returns to. A tail call leaves the routine. Where control arrives in the middle of a routine
//! by an indirect jump or a return that belongs to no call (an exception's landing pad), it comes from
//! calls of this routine that did not return. A signal handler's return is no edge.

use crate::code::{Code, Edge};
use crate::routine::{Routine, RoutineId};
use std::collections::HashMap;
use timewise_profile::{BlockId, EdgeKind};

/// The graph of one routine; nodes are positions in [`Graph::blocks`].
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The routine's blocks, by offset.
    pub blocks: Vec<BlockId>,
    /// Where control can go from each node.
    pub successors: Vec<Vec<u32>>,
    /// Where control can come from.
    pub predecessors: Vec<Vec<u32>>,
    /// How often each edge was taken.
    pub counts: HashMap<(u32, u32), u64>,
    /// Nodes where control enters the routine.
    pub entries: Vec<u32>,
    /// How often control entered at each node.
    pub entered: Vec<u64>,
    /// How often the routine was called, by calls, tail calls and starts of threads.
    pub calls: u64,
}

impl Graph {
    /// How often the edge was taken; 0 if there is none.
    pub fn count(&self, from: u32, to: u32) -> u64 {
        self.counts.get(&(from, to)).copied().unwrap_or(0)
    }

    fn add(&mut self, from: u32, to: u32, count: u64) {
        if count > 0 {
            *self.counts.entry((from, to)).or_default() += count;
        }
    }
}

/// Whether edges of this kind are calls.
pub(crate) fn is_call(kind: EdgeKind) -> bool {
    matches!(kind, EdgeKind::Call | EdgeKind::IndirectCall)
}

/// How an edge concerns the routine of its destination.
enum Meaning {
    /// An edge of the graph, from this block.
    Inner(BlockId),
    /// A call of the routine, or a jump from another one.
    Entry,
    /// An arrival that some call of the routine must have led to.
    Unwound,
    /// An arrival from outside the program: start of a thread, return from a signal.
    External,
}

/// The graphs of all routines, in their order.
pub fn graphs(code: &Code, routines: &[Routine], owner: &[RoutineId]) -> Vec<Graph> {
    let mut local = vec![0u32; code.blocks.len()];
    let mut list: Vec<Graph> = Vec::with_capacity(routines.len());
    for routine in routines {
        for (position, block) in routine.blocks.iter().enumerate() {
            local[block.index()] = position as u32;
        }
        let size = routine.blocks.len();
        list.push(Graph { blocks: routine.blocks.clone(), entered: vec![0; size], ..Graph::default() });
    }
    let mut external: Vec<Vec<u32>> = vec![Vec::new(); routines.len()];
    let mut unwound: Vec<Vec<(u32, u64)>> = vec![Vec::new(); routines.len()];
    for edge in code.edges.iter().filter(|edge| edge.count > 0) {
        let Some(to) = edge.to else { continue };
        let routine = owner[to.index()];
        let (graph, node) = (&mut list[routine.index()], local[to.index()]);
        let is_start = code.blocks[to.index()].place == routines[routine.index()].place;
        match meaning(code, owner, edge, to, is_start) {
            Meaning::Inner(from) => graph.add(local[from.index()], node, edge.count),
            Meaning::Entry => {
                graph.entered[node as usize] += edge.count;
                if is_start || is_call(edge.kind) {
                    graph.calls += edge.count;
                }
            }
            Meaning::Unwound => unwound[routine.index()].push((node, edge.count)),
            Meaning::External => {
                external[routine.index()].push(node);
                if is_start {
                    graph.entered[node as usize] += edge.count;
                    graph.calls += edge.count;
                }
            }
        }
    }
    for ((graph, external), unwound) in list.iter_mut().zip(&external).zip(&unwound) {
        attach_unwound(code, graph, unwound);
        finish(graph, external);
    }
    list
}

fn meaning(code: &Code, owner: &[RoutineId], edge: &Edge, to: BlockId, is_start: bool) -> Meaning {
    use EdgeKind::{Call, External, IndirectCall, IndirectJump, Return};
    let Some(from) = edge.from.filter(|_| edge.kind != External) else { return Meaning::External };
    let same = owner[from.index()] == owner[to.index()];
    let place = code.blocks[to.index()].place;
    let call = code.call_returning_to(place).filter(|call| owner[call.index()] == owner[to.index()]);
    match edge.kind {
        // A call of the next instruction reads the program counter.
        Call if call == Some(from) && !is_start => Meaning::Inner(from),
        Call | IndirectCall => Meaning::Entry,
        Return => match call {
            Some(call) => Meaning::Inner(call),
            None if same => Meaning::Inner(from),
            None => Meaning::Unwound,
        },
        _ if same => Meaning::Inner(from),
        _ if is_start => Meaning::Entry,
        // `longjmp` arrives where `setjmp` returned.
        IndirectJump => call.map_or(Meaning::Unwound, Meaning::Inner),
        _ => Meaning::Entry,
    }
}

/// Gives arrivals by unwinding their origin: the fewest calls of the routine that returned less often
/// than they were executed and that can explain them. Without any, they enter from outside.
fn attach_unwound(code: &Code, graph: &mut Graph, unwound: &[(u32, u64)]) {
    if unwound.is_empty() {
        return;
    }
    let mut returned = vec![0u64; graph.blocks.len()];
    for (&(from, _), count) in &graph.counts {
        returned[from as usize] += count;
    }
    let mut missing: Vec<(u64, u32)> = Vec::new();
    for (node, id) in graph.blocks.iter().enumerate() {
        let lost = code.blocks[id.index()].executions.saturating_sub(returned[node]);
        if code.ends_in_call(*id) && lost > 0 {
            missing.push((lost, node as u32));
        }
    }
    missing.sort_by_key(|&(lost, node)| (std::cmp::Reverse(lost), node));
    let wanted: u64 = unwound.iter().map(|arrival| arrival.1).sum();
    let mut explained = 0;
    let enough = missing.iter().take_while(|(lost, _)| {
        let needed = explained < wanted;
        explained += lost;
        needed
    });
    let origins: Vec<(u64, u32)> = enough.copied().collect();
    let lost_by_all: u64 = origins.iter().map(|origin| origin.0).sum();
    for &(node, count) in unwound {
        if origins.is_empty() {
            graph.entered[node as usize] += count;
        }
        for &(lost, from) in &origins {
            let share = u128::from(count) * u128::from(lost) / u128::from(lost_by_all);
            graph.add(from, node, (share as u64).max(1));
        }
    }
}

/// Lists the neighbours and chooses entries such that every node is reached.
fn finish(graph: &mut Graph, external: &[u32]) {
    let size = graph.blocks.len();
    graph.successors = vec![Vec::new(); size];
    graph.predecessors = vec![Vec::new(); size];
    let mut edges: Vec<(u32, u32)> = graph.counts.keys().copied().collect();
    edges.sort_unstable();
    for (from, to) in edges {
        graph.successors[from as usize].push(to);
        graph.predecessors[to as usize].push(from);
    }
    let mut reached = vec![false; size];
    let called: Vec<u32> = (0..size as u32).filter(|&node| graph.entered[node as usize] > 0).collect();
    let others = external.iter().copied().chain(0..size as u32);
    let candidates = called.into_iter().map(|node| (node, true)).chain(others.map(|node| (node, false)));
    for (candidate, is_called) in candidates {
        if reached[candidate as usize] && !is_called {
            continue;
        }
        graph.entries.push(candidate);
        let mut open = vec![candidate];
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut reached[node as usize], true) {
                open.extend(&graph.successors[node as usize]);
            }
        }
    }
}
