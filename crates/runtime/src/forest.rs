//! Which edges need a counter.
//!
//! At every point of the program that control passes through, what flows in flows out. So of the edges
//! that close a cycle (in the graph without directions) one must be counted, and all others follow: the
//! edges without a counter form a forest (Knuth and Stevenson 1973; OptiWISE section II-B cites the same
//! work). The graph becomes known only as the program runs, so the forest grows online: an edge stays
//! uncounted if it joins two trees.

use alloc::vec::Vec;

/// A point that control flows through: the start or the end of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vertex(u32);

impl Vertex {
    /// Start of block number `block`.
    pub fn start(block: u32) -> Vertex {
        Vertex(2 * block)
    }

    /// A number of its own.
    pub fn number(self) -> u32 {
        self.0
    }

    /// End of block number `block`.
    pub fn end(block: u32) -> Vertex {
        Vertex(2 * block + 1)
    }
}

/// Trees of edges without counters, as disjoint sets of vertices.
#[derive(Default, Debug)]
pub struct Forest {
    parent: Vec<u32>,
}

impl Forest {
    /// Adds both vertices of the next block, in trees of their own.
    pub fn add_block(&mut self) {
        let next = self.parent.len() as u32;
        self.parent.extend([next, next + 1]);
    }

    /// Joins the trees of two vertices. False if they were one already: the edge between them then needs
    /// a counter.
    pub fn join(&mut self, a: Vertex, b: Vertex) -> bool {
        let (a, b) = (self.root(a.0), self.root(b.0));
        if a == b {
            return false;
        }
        // Towards the older: long chains are cut by `root`, ranks would cost memory for nothing.
        let (older, younger) = (a.min(b), a.max(b));
        self.parent[younger as usize] = older;
        true
    }

    fn root(&mut self, mut vertex: u32) -> u32 {
        while self.parent[vertex as usize] != vertex {
            let up = self.parent[self.parent[vertex as usize] as usize];
            self.parent[vertex as usize] = up;
            vertex = up;
        }
        vertex
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diamond_in_a_loop_needs_two_counters() {
        // 0 -> 1 | 2 -> 3 -> 0: five edges, of which cycles (5 - 4 + 1) need a counter.
        let mut forest = Forest::default();
        for block in 0..4 {
            forest.add_block();
            assert!(forest.join(Vertex::start(block), Vertex::end(block)));
        }
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)];
        let counted = edges.iter().filter(|&&(a, b)| !forest.join(Vertex::end(a), Vertex::start(b))).count();
        assert_eq!(counted, 2);
    }

    #[test]
    fn a_block_that_jumps_to_itself_needs_one() {
        let mut forest = Forest::default();
        forest.add_block();
        assert!(forest.join(Vertex::end(0), Vertex::start(0)), "the jump, if the block is counted");
        assert!(!forest.join(Vertex::start(0), Vertex::end(0)), "then the block is what needs a counter");
    }
}
