//! How far each point of the code is along the instructions that a thread executes.
//!
//! A thread's clock is to tell how many instructions it has executed, at any call and any return. It need
//! not tick with each of them: every point has a fixed lead over the clock, and where control passes from
//! point to point, the clock only has to move by what their leads do not account for. Along edges without
//! a counter leads are chosen so that it need not move at all (as in Ball and Larus's placement of
//! increments), so it moves only where something is counted anyway.

use crate::forest::Vertex;
use alloc::vec::Vec;

/// Leads of vertices over the clock, of which differences are known between those that control has passed
/// between.
#[derive(Debug)]
pub struct Clock {
    /// Number 0 stands for everything outside, a vertex has its own number + 1.
    parent: Vec<u32>,
    /// Lead over the parent's: of no program is so much code translated that it would be more.
    ahead: Vec<i32>,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { parent: alloc::vec![0], ahead: alloc::vec![0] }
    }
}

impl Clock {
    /// Adds both vertices of the next block, unrelated to all others.
    pub fn add_block(&mut self) {
        let next = self.parent.len() as u32;
        self.parent.extend([next, next + 1]);
        self.ahead.extend([0, 0]);
    }

    /// Control passes from one vertex to another, or from or to outside, and `instructions` are executed
    /// on the way: by how much the clock must move there.
    pub fn pass(&mut self, from: Option<Vertex>, to: Option<Vertex>, instructions: i64) -> i64 {
        let number = |vertex: Option<Vertex>| vertex.map_or(0, |vertex| vertex.number() + 1);
        let (from_root, from_lead) = self.root(number(from));
        let (to_root, to_lead) = self.root(number(to));
        let due = from_lead + instructions - to_lead;
        if from_root == to_root {
            return due;
        }
        let (older, younger) = (from_root.min(to_root), from_root.max(to_root));
        self.parent[younger as usize] = older;
        self.ahead[younger as usize] = (if younger == to_root { due } else { -due }) as i32;
        0
    }

    /// How far a vertex is ahead of the clock; none if control never came there.
    pub fn lead(&self, vertex: Vertex) -> Option<i64> {
        let mut at = vertex.number() + 1;
        let mut lead = 0;
        while self.parent[at as usize] != at {
            lead += i64::from(self.ahead[at as usize]);
            at = self.parent[at as usize];
        }
        (at == 0).then_some(lead)
    }

    /// The root above a vertex, and the vertex's lead over it.
    fn root(&mut self, vertex: u32) -> (u32, i64) {
        let mut root = vertex;
        let mut lead = 0;
        while self.parent[root as usize] != root {
            lead += i64::from(self.ahead[root as usize]);
            root = self.parent[root as usize];
        }
        // Next time it is one step.
        let (mut at, mut left) = (vertex, lead);
        while self.parent[at as usize] != root && at != root {
            let ahead = core::mem::replace(&mut self.ahead[at as usize], left as i32);
            left -= i64::from(ahead);
            at = core::mem::replace(&mut self.parent[at as usize], root);
        }
        (root, lead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks through blocks of the sizes given, along edges that are related in this order, and compares.
    #[test]
    fn the_clock_tells_the_instructions_on_any_way() {
        let sizes = [3i64, 5, 7, 2];
        let edges = [(0, 1), (1, 3), (0, 2), (2, 3), (3, 0), (1, 1)];
        let mut clock = Clock::default();
        for (block, &size) in sizes.iter().enumerate() {
            clock.add_block();
            let block = block as u32;
            assert_eq!(clock.pass(Some(Vertex::start(block)), Some(Vertex::end(block)), size), 0);
        }
        assert_eq!(clock.pass(None, Some(Vertex::start(0)), 0), 0);
        let steps = edges.map(|(a, b)| clock.pass(Some(Vertex::end(a)), Some(Vertex::start(b)), 0));
        assert_eq!(steps[..2], [0, 0], "a tree");
        for way in [&[0u32, 1, 1, 3, 0, 2, 3, 0, 1][..], &[0, 2, 3], &[0, 1, 1, 1, 1, 3, 0]] {
            let mut told = 0;
            for pair in way.windows(2) {
                let edge = edges.iter().position(|&(a, b)| [a, b] == *pair).unwrap();
                told += steps[edge];
            }
            let last = *way.last().unwrap();
            told += clock.pass(Some(Vertex::start(last)), None, 0);
            let executed: i64 = way[..way.len() - 1].iter().map(|&block| sizes[block as usize]).sum();
            assert_eq!(told, executed);
        }
    }
}
