//! Irreducible regions: cycles that control enters at several places, so that no block dominates the
//! others and no natural loop covers them.
//!
//! Each such region becomes one loop. Regions inside regions are found by closing the edges to a
//! region's entries and looking again (Steensgaard: Sequentializing Program Dependence Graphs for
//! Irreducible Programs), which does not depend on the order of blocks.

use crate::dominators::Dominators;
use crate::graph::Graph;
use crate::set::BlockSet;
use crate::strong::cyclic_components;

/// A strongly connected region with several entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Nodes where control enters it.
    pub entries: Vec<u32>,
    /// All nodes.
    pub body: BlockSet,
}

/// All irreducible regions of a graph, outer ones before those inside them.
pub fn irreducible_regions(graph: &Graph, dominators: &Dominators) -> Vec<Region> {
    let size = graph.blocks.len();
    let all: Vec<u32> = (0..size as u32).collect();
    let forward = |node: u32| {
        let to = graph.successors[node as usize].iter().copied();
        to.filter(move |&to| !dominators.dominates(to, node))
    };
    if cyclic_components(&all, size, forward).is_empty() {
        return Vec::new();
    }
    let mut is_entry_of_all = vec![false; size];
    graph.entries.iter().for_each(|&entry| is_entry_of_all[entry as usize] = true);
    let mut regions = Vec::new();
    let mut closed = vec![false; size];
    let mut open = vec![all];
    while let Some(nodes) = open.pop() {
        let onward =
            |node: u32| graph.successors[node as usize].iter().copied().filter(|&to| !closed[to as usize]);
        let components = cyclic_components(&nodes, size, onward);
        for component in components {
            let mut body = BlockSet::new(size);
            component.iter().for_each(|&node| {
                body.insert(node);
            });
            let is_entry = |&node: &u32| {
                is_entry_of_all[node as usize]
                    || graph.predecessors[node as usize].iter().any(|&from| !body.contains(from))
            };
            let entries: Vec<u32> = component.iter().copied().filter(is_entry).collect();
            entries.iter().for_each(|&entry| closed[entry as usize] = true);
            if entries.len() > 1 {
                regions.push(Region { entries: entries.clone(), body });
            }
            if component.len() > entries.len() && !entries.is_empty() {
                open.push(component);
            }
        }
    }
    regions
}
