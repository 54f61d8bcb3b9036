//! The tree of one thread: stretches between deterministic events, divided by those of finer levels (CQ, figure 9).

use crate::level::Level;
use std::ops::Range;

/// Index of a node in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// The time from one deterministic event to another, with all that happens between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The event with which it begins, and the one before which it ends: positions in the list of those that are common
    /// to all runs.
    pub events: Range<usize>,
    /// The level whose events part its children; `None` if it has none.
    pub parted_by: Option<Level>,
    /// In order. They take all of its time.
    pub children: Vec<NodeId>,
}

/// Nodes, each before its children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    /// The node that holds all, and what it consists of.
    pub const ROOT: NodeId = NodeId(0);

    /// The tree of events at these levels, in order; it has no node of fewer than two.
    pub fn new(levels: &[Level]) -> Tree {
        let mut tree = Tree::default();
        if levels.len() < 2 {
            return tree;
        }
        let whole = 0..levels.len() - 1;
        tree.nodes.push(Node { events: whole, parted_by: None, children: Vec::new() });
        // Parents come first, so that each node is divided once.
        let mut next = 0;
        while next < tree.nodes.len() {
            tree.divide(NodeId(next as u32), levels);
            next += 1;
        }
        tree
    }

    /// All nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// One of them.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// From the root to a node, both included.
    pub fn way(&self, to: NodeId) -> Vec<NodeId> {
        let mut way = vec![Tree::ROOT];
        let start = self.node(to).events.start;
        while let Some(last) = way.last().copied().filter(|last| *last != to) {
            let children = &self.node(last).children;
            let behind = children.partition_point(|id| self.node(*id).events.start <= start);
            way.push(children[behind - 1]);
        }
        way
    }

    fn divide(&mut self, id: NodeId, levels: &[Level]) {
        let Range { start, end } = self.node(id).events;
        let within = &levels[start + 1..end];
        // What is coarser stands only at a node's ends.
        let Some(&level) = within.iter().min() else { return };
        let parts = (start + 1..end).filter(|&at| levels[at] == level).chain([end]);
        let mut from = start;
        for to in parts {
            let child = NodeId(self.nodes.len() as u32);
            self.nodes.push(Node { events: from..to, parted_by: None, children: Vec::new() });
            self.nodes[id.0 as usize].children.push(child);
            from = to;
        }
        self.nodes[id.0 as usize].parted_by = Some(level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{Calls, Files, Programs};

    fn events(tree: &Tree, id: NodeId) -> Vec<Range<usize>> {
        tree.node(id).children.iter().map(|&child| tree.node(child).events.clone()).collect()
    }

    /// That of figure 10: images part the whole, registry keys the third part.
    #[test]
    fn events_of_each_level_part_those_above() {
        let tree = Tree::new(&[Programs, Programs, Programs, Files, Files, Programs, Programs]);
        assert_eq!(events(&tree, Tree::ROOT), [0..1, 1..2, 2..5, 5..6]);
        assert_eq!(tree.node(Tree::ROOT).parted_by, Some(Programs));
        let third = tree.node(Tree::ROOT).children[2];
        assert_eq!((events(&tree, third), tree.node(third).parted_by), (vec![2..3, 3..4, 4..5], Some(Files)));
        assert_eq!(tree.nodes().len(), 8);
        let way = |to: u32| tree.way(NodeId(to)).iter().map(|id| id.0).collect::<Vec<u32>>();
        assert_eq!([way(0), way(third.0), way(6)], [vec![0], vec![0, 3], vec![0, 3, 6]]);
    }

    #[test]
    fn levels_without_events_are_left_out() {
        let tree = Tree::new(&[Programs, Calls, Calls, Programs]);
        assert_eq!(
            (events(&tree, Tree::ROOT), tree.node(Tree::ROOT).parted_by),
            (vec![0..1, 1..2, 2..3], Some(Calls))
        );
        assert!(Tree::new(&[Programs]).nodes().is_empty());
        assert_eq!(Tree::new(&[Calls, Calls]).nodes().len(), 1);
    }
}
