//! Natural loops: one for each back edge (Aho, Sethi and Ullman's definition).

use crate::dominators::Dominators;
use crate::graph::Graph;
use crate::set::BlockSet;

/// The loop of one back edge.
#[derive(Clone, Debug)]
pub struct NaturalLoop {
    /// The destination of the back edge, which dominates its source.
    pub header: u32,
    /// Nodes that reach the source of the back edge without passing the header, and the header.
    pub body: BlockSet,
    /// How often the back edge was taken.
    pub back_count: u64,
}

/// Natural loops of a graph, by header, then by the source of the back edge.
pub fn natural_loops(graph: &Graph, dominators: &Dominators) -> Vec<NaturalLoop> {
    let mut loops = Vec::new();
    for (header, sources) in graph.predecessors.iter().enumerate() {
        let header = header as u32;
        for &tail in sources.iter().filter(|&&tail| dominators.dominates(header, tail)) {
            let body = body(graph, header, tail);
            loops.push(NaturalLoop { header, body, back_count: graph.count(tail, header) });
        }
    }
    loops
}

fn body(graph: &Graph, header: u32, tail: u32) -> BlockSet {
    let mut body = BlockSet::new(graph.blocks.len());
    body.insert(header);
    let mut open = vec![tail];
    while let Some(node) = open.pop() {
        if body.insert(node) {
            open.extend(&graph.predecessors[node as usize]);
        }
    }
    body
}
