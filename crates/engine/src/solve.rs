//! From the counters that were kept to the count of every edge.
//!
//! At the start and the end of each block, what flows in flows out. Edges without a counter form a forest
//! over these points, so a point with one unknown edge gives it, again and again, until all are known. One
//! equation of each tree remains: it must hold, and says by how much if it does not.
//!
//! All arithmetic is modulo 2⁶⁴: no count that a program can reach comes near that, but what it wrote over
//! its counters by accident may.

use timewise_abi::NONE;
use timewise_abi::log::{BlockRecord, EdgeRecord};

/// Counts of all edges, in the order of their log.
#[derive(Debug, PartialEq, Eq)]
pub struct Solution {
    /// How often each edge was taken.
    pub edges: Vec<i64>,
    /// Points at which more came in than left: where threads may have been whose last position is unknown.
    pub remainders: Vec<Remainder>,
}

/// A point at which the flow that comes in does not all leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remainder {
    /// The point.
    pub at: Point,
    /// What comes in less what leaves.
    pub surplus: i64,
}

/// A point that control flows through. A block without a counter of its own is one point, else two:
/// before its counter and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point(u32);

impl Point {
    /// Where an edge into `block` arrives.
    pub fn start(block: u32) -> Point {
        Point(2 * block)
    }

    /// Where an edge leaves `block` after `executed` of its instructions.
    pub fn left(block: u32, executed: u16, blocks: &[BlockRecord]) -> Point {
        Point::behind(block, executed, &blocks[block as usize])
    }

    /// Likewise, by the block's record.
    pub fn behind(block: u32, executed: u16, record: &BlockRecord) -> Point {
        let passed = record.counter != NONE && executed >= record.counter_at;
        Point(2 * block + u32::from(passed))
    }

    /// Before the counter of a block that has one, and after it.
    pub fn both(block: u32) -> [Point; 2] {
        [Point(2 * block), Point(2 * block + 1)]
    }

    /// Its block.
    pub fn block(self) -> u32 {
        self.0 / 2
    }

    /// Whether it stands before the counter of a block that has one.
    pub fn before_counter(self, blocks: &[BlockRecord]) -> bool {
        self.0.is_multiple_of(2) && blocks[self.block() as usize].counter != NONE
    }

    /// Its place among the points of all blocks.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The equations of a process: one for each point, with the order in which they give the unknown edges.
#[derive(Debug)]
pub struct Equations<'a> {
    blocks: &'a [BlockRecord],
    edges: &'a [EdgeRecord],
    order: Vec<Elimination>,
}

/// An unknown edge follows from the equation of one of its ends.
#[derive(Clone, Copy, Debug)]
pub struct Elimination {
    /// Its number.
    pub edge: u32,
    /// The end whose equation gives it.
    pub by: Point,
    /// Its other end, if there is one.
    pub other: Option<Point>,
    /// It leaves `by`.
    pub leaves: bool,
}

impl<'a> Equations<'a> {
    /// Finds the order.
    pub fn new(blocks: &'a [BlockRecord], edges: &'a [EdgeRecord]) -> Equations<'a> {
        let mut equations = Equations { blocks, edges, order: Vec::new() };
        let points = 2 * blocks.len();
        let mut unknown = vec![0u32; points];
        // The unknown edges at a point, folded by exclusive or: when one is left, it is the fold.
        let mut fold = vec![0u32; points];
        for (number, edge) in edges.iter().enumerate().filter(|(_, edge)| edge.counter == NONE) {
            let (from, to) = equations.ends(edge);
            for point in [from, to].into_iter().flatten() {
                unknown[point.index()] += 1;
                fold[point.index()] ^= number as u32;
            }
        }
        let mut ready: Vec<Point> = (0..points as u32).map(Point).collect();
        ready.retain(|point| unknown[point.index()] == 1);
        while let Some(by) = ready.pop() {
            if unknown[by.index()] != 1 {
                continue;
            }
            let edge = fold[by.index()];
            let (from, to) = equations.ends(&edges[edge as usize]);
            let leaves = from == Some(by);
            equations.order.push(Elimination { edge, by, other: if leaves { to } else { from }, leaves });
            for end in [from, to].into_iter().flatten() {
                unknown[end.index()] -= 1;
                fold[end.index()] ^= edge;
                if unknown[end.index()] == 1 {
                    ready.push(end);
                }
            }
        }
        equations
    }

    /// The order, in which an edge comes after those that the other equation of its first end needs.
    pub fn into_order(self) -> Vec<Elimination> {
        self.order
    }

    fn ends(&self, edge: &EdgeRecord) -> (Option<Point>, Option<Point>) {
        let from = (edge.from != NONE).then(|| Point::left(edge.from, edge.executed, self.blocks));
        (from, (edge.to != NONE).then(|| Point::start(edge.to)))
    }

    /// The edges without a counter that join two points: number, source and destination.
    pub fn uncounted(&self) -> impl Iterator<Item = (u32, Point, Point)> {
        self.order.iter().filter_map(|step| {
            let other = step.other?;
            let (from, to) = if step.leaves { (step.by, other) } else { (other, step.by) };
            Some((step.edge, from, to))
        })
    }

    /// Solves for all edges, given the value of each counter and the points where threads came to rest.
    pub fn solve(&self, counter: impl Fn(u32) -> u64, rests: &[Point]) -> Solution {
        let mut surplus = vec![0i64; 2 * self.blocks.len()];
        let mut values = vec![0i64; self.edges.len()];
        for (block, record) in self.blocks.iter().enumerate().filter(|(_, b)| b.counter != NONE) {
            let value = counter(record.counter).min(i64::MAX as u64) as i64;
            add(&mut surplus, Point::start(block as u32), -value);
            add(&mut surplus, Point(2 * block as u32 + 1), value);
        }
        for (number, edge) in self.edges.iter().enumerate().filter(|(_, edge)| edge.counter != NONE) {
            let value = counter(edge.counter).min(i64::MAX as u64) as i64;
            let (from, to) = self.ends(edge);
            values[number] = value;
            from.inspect(|&from| add(&mut surplus, from, -value));
            to.inspect(|&to| add(&mut surplus, to, value));
        }
        for &point in rests {
            add(&mut surplus, point, -1);
        }
        for step in &self.order {
            // What flows in and not out so far must leave by this edge, or come in by it if it enters.
            let rest = std::mem::take(&mut surplus[step.by.index()]);
            values[step.edge as usize] = if step.leaves { rest } else { rest.wrapping_neg() };
            step.other.inspect(|&other| add(&mut surplus, other, rest));
        }
        let remainders = surplus.iter().enumerate().filter(|(_, surplus)| **surplus != 0);
        let remainders = remainders.map(|(p, &surplus)| Remainder { at: Point(p as u32), surplus });
        Solution { edges: values, remainders: remainders.collect() }
    }

    /// What each counter contributes to the number of executed instructions, and what a thread at rest at
    /// each point does: the sum over a thread's own counters, weighted, is what the thread executed.
    pub fn instruction_weights(&self, counters: usize) -> Weights {
        let full = |block: u32| i64::from(self.blocks[block as usize].instructions);
        let of_edge = |edge: &EdgeRecord| brings_in(edge, full);
        let mut points = vec![0i64; 2 * self.blocks.len()];
        for step in self.order.iter().rev() {
            let own = of_edge(&self.edges[step.edge as usize]);
            let beyond = step.other.map_or(0, |p| points[p.index()]);
            points[step.by.index()] = beyond + if step.leaves { own } else { -own };
        }
        let mut weights = vec![0i64; counters];
        for edge in self.edges.iter().filter(|edge| edge.counter != NONE) {
            let (from, to) = self.ends(edge);
            let at = |point: Option<Point>| point.map_or(0, |p| points[p.index()]);
            weights[edge.counter as usize] += of_edge(edge) - at(from) + at(to);
        }
        for (block, record) in self.blocks.iter().enumerate().filter(|(_, b)| b.counter != NONE) {
            weights[record.counter as usize] += points[2 * block + 1] - points[2 * block];
        }
        Weights { counters: weights, points }
    }
}

/// Instructions that are executed by way of an edge, given those of blocks: it brings in a whole block, and takes back what
/// was not executed of the one it leaves.
pub fn brings_in(edge: &EdgeRecord, instructions: impl Fn(u32) -> i64) -> i64 {
    let entered = if edge.to == NONE { 0 } else { instructions(edge.to) };
    let left = if edge.from == NONE { 0 } else { instructions(edge.from) - i64::from(edge.executed) };
    entered - left
}

/// See [`Equations::instruction_weights`].
#[derive(Debug)]
pub struct Weights {
    counters: Vec<i64>,
    points: Vec<i64>,
}

impl Weights {
    /// Instructions that a thread executed, from its own counters that are not zero and from where it came
    /// to rest.
    pub fn instructions(&self, counted: &[(u32, u64)], rest: Option<Point>) -> i64 {
        // A thread that still runs may count in code that came too late to be read.
        let weight = |n: u32| self.counters.get(n as usize).copied().unwrap_or(0);
        let products = counted.iter().map(|&(n, value)| weight(n).wrapping_mul(value as i64));
        let sum = products.fold(0, i64::wrapping_add);
        sum.wrapping_sub(rest.map_or(0, |p| self.points[p.index()]))
    }
}

fn add(surplus: &mut [i64], at: Point, value: i64) {
    let surplus = &mut surplus[at.index()];
    *surplus = surplus.wrapping_add(value);
}

/// Records as tests want them.
#[cfg(test)]
pub mod sample {
    use timewise_abi::NONE;
    use timewise_abi::log::{BlockRecord, EdgeRecord, edge_kind};

    /// A block of four instructions.
    pub fn block(counter: u32) -> BlockRecord {
        BlockRecord {
            address: 0,
            mappings: 0,
            version: 0,
            counter,
            counter_at: 0,
            instructions: 4,
            length: 8,
            reserved: [0; 3],
        }
    }

    /// A jump behind the last of them.
    pub fn edge(from: u32, to: u32, counter: u32) -> EdgeRecord {
        EdgeRecord { from, to, counter, executed: 4, kind: edge_kind::JUMP, step: 0, cost: NONE }
    }
}

#[cfg(test)]
mod tests {
    use super::sample::{block, edge};
    use super::*;

    /// In from outside to 0; 0 to 1 (70 of 100) or 2; both to 3; back to 0 (99); out.
    const DIAMOND: [(u32, u32, u32); 7] =
        [(NONE, 0, 0), (0, 1, NONE), (0, 2, NONE), (1, 3, NONE), (2, 3, 1), (3, 0, 2), (3, NONE, 3)];

    #[test]
    fn a_loop_around_a_diamond() {
        let blocks = [block(NONE); 4];
        let edges = DIAMOND.map(|(from, to, counter)| edge(from, to, counter));
        let counters = [1, 30, 99, 1];
        let equations = Equations::new(&blocks, &edges);
        let solution = equations.solve(|n| counters[n as usize], &[]);
        assert_eq!(solution.edges, [1, 70, 30, 70, 30, 99, 1]);
        assert_eq!(solution.remainders, []);
        let weights = equations.instruction_weights(4);
        let counted: Vec<(u32, u64)> = (0..).zip(counters).collect();
        assert_eq!(weights.instructions(&counted, None), 4 * (100 + 70 + 30 + 100));
    }

    #[test]
    fn a_counted_block_tells_its_own_jump() {
        // In, to itself 9 times, out by falling through; the block is counted, its jump is not.
        let blocks = [block(1), block(NONE)];
        let edges = [edge(NONE, 0, 0), edge(0, 0, NONE), edge(0, 1, NONE), edge(1, NONE, 2)];
        let counters = [1, 10, 1];
        let equations = Equations::new(&blocks, &edges);
        let solution = equations.solve(|n| counters[n as usize], &[]);
        assert_eq!(solution.edges, [1, 9, 1, 1]);
        assert_eq!(solution.remainders, []);
        let weights = equations.instruction_weights(3);
        assert_eq!(weights.instructions(&[(0, 1), (1, 10), (2, 1)], None), 44);
    }

    #[test]
    fn where_a_thread_rests_is_where_its_flow_ends() {
        let blocks = [block(NONE), block(NONE)];
        let edges = [edge(NONE, 0, 0), edge(0, 1, NONE)];
        let equations = Equations::new(&blocks, &edges);
        let rest = Point::left(1, 4, &blocks);
        let solution = equations.solve(|_| 1, &[rest]);
        assert_eq!(solution, Solution { edges: vec![1, 1], remainders: vec![] });
        let weights = equations.instruction_weights(1);
        assert_eq!(weights.instructions(&[(0, 1)], Some(rest)), 8);
        let resting_before = equations.solve(|_| 1, &[Point::left(0, 4, &blocks)]);
        assert_eq!(resting_before.edges, [1, 0]);
    }

    #[test]
    fn an_end_that_nobody_saw_remains() {
        let blocks = [block(NONE)];
        let solution = Equations::new(&blocks, &[edge(NONE, 0, 0)]).solve(|_| 1, &[]);
        assert_eq!(solution.remainders, [Remainder { at: Point(0), surplus: 1 }]);
    }

    #[test]
    fn a_block_left_early_is_not_executed_whole() {
        // In twice; once left after 3 of 4 instructions, once whole.
        let blocks = [block(NONE)];
        let early = EdgeRecord { executed: 3, ..edge(0, NONE, 1) };
        let edges = [edge(NONE, 0, 0), early, edge(0, NONE, NONE)];
        let equations = Equations::new(&blocks, &edges);
        assert_eq!(equations.solve(|n| [2, 1][n as usize], &[]).edges, [2, 1, 1]);
        assert_eq!(equations.instruction_weights(2).instructions(&[(0, 2), (1, 1)], None), 7);
    }
}
