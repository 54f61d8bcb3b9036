//! From the counters that were kept to the count of every edge and block.
//!
//! At the start and the end of each block, what flows in flows out. Edges without a counter form a forest
//! over these points, so a point with one unknown edge gives it, again and again, until all are known. One
//! equation of each tree remains: it must hold, and says by how much if it does not.

use timewise_abi::NONE;
use timewise_abi::log::{BlockRecord, EdgeRecord};

/// Counts of all edges and blocks, in the order of their logs.
#[derive(Debug, PartialEq, Eq)]
pub struct Solution {
    /// How often each edge was taken.
    pub edges: Vec<i64>,
    /// How often each block was entered.
    pub blocks: Vec<i64>,
    /// Sum of the amounts by which the remaining equations fail: 0 if all threads' ends are known.
    pub imbalance: u64,
}

/// The point at which an edge leaves its source: before the block's counter or after it.
fn source(edge: &EdgeRecord, blocks: &[BlockRecord]) -> Option<usize> {
    (edge.from != NONE).then(|| {
        let block = &blocks[edge.from as usize];
        let passed = block.counter == NONE || edge.executed >= block.counter_at;
        point(edge.from, passed, blocks)
    })
}

/// A block without a counter is one point, else two.
fn point(block: u32, end: bool, blocks: &[BlockRecord]) -> usize {
    2 * block as usize + usize::from(end && blocks[block as usize].counter != NONE)
}

/// Solves for all counts, given the value of each counter.
pub fn solve(blocks: &[BlockRecord], edges: &[EdgeRecord], counter: impl Fn(u32) -> u64) -> Solution {
    let points = 2 * blocks.len();
    // What is known to flow in, less what is known to flow out, and the unknown edges at each point.
    let mut surplus = vec![0i64; points];
    let mut unknown = vec![0u32; points];
    // The unknown edges at a point, folded by exclusive or: when one is left, it is the fold.
    let mut fold = vec![0u32; points];
    let mut values = vec![0i64; edges.len()];
    for (block, record) in blocks.iter().enumerate() {
        if record.counter != NONE {
            let value = counter(record.counter) as i64;
            surplus[2 * block] -= value;
            surplus[2 * block + 1] += value;
        }
    }
    let ends = |edge: &EdgeRecord| {
        let to = (edge.to != NONE).then(|| point(edge.to, false, blocks));
        (source(edge, blocks), to)
    };
    for (number, edge) in edges.iter().enumerate() {
        let (from, to) = ends(edge);
        if edge.counter != NONE {
            let value = counter(edge.counter) as i64;
            values[number] = value;
            from.inspect(|&p| surplus[p] -= value);
            to.inspect(|&p| surplus[p] += value);
        } else {
            for point in [from, to].into_iter().flatten() {
                unknown[point] += 1;
                fold[point] ^= number as u32;
            }
        }
    }
    let mut ready: Vec<usize> = (0..points).filter(|&p| unknown[p] == 1).collect();
    while let Some(point) = ready.pop() {
        if unknown[point] != 1 {
            continue;
        }
        let number = fold[point] as usize;
        let (from, to) = ends(&edges[number]);
        // What flows in and not out so far must leave by this edge, or come in by it if it enters.
        let value = if from == Some(point) { surplus[point] } else { -surplus[point] };
        values[number] = value;
        from.inspect(|&p| surplus[p] -= value);
        to.inspect(|&p| surplus[p] += value);
        for end in [from, to].into_iter().flatten() {
            unknown[end] -= 1;
            fold[end] ^= number as u32;
            if unknown[end] == 1 {
                ready.push(end);
            }
        }
    }
    let imbalance = surplus.iter().map(|s| s.unsigned_abs()).sum();
    let mut entered = vec![0i64; blocks.len()];
    for (edge, value) in edges.iter().zip(&values) {
        if edge.to != NONE {
            entered[edge.to as usize] += value;
        }
    }
    Solution { edges: values, blocks: entered, imbalance }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_abi::log::edge_kind;

    fn block(counter: u32) -> BlockRecord {
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

    fn edge(from: u32, to: u32, counter: u32) -> EdgeRecord {
        EdgeRecord { from, to, counter, executed: 4, kind: edge_kind::JUMP }
    }

    #[test]
    fn a_loop_around_a_diamond() {
        // In from outside to 0; 0 to 1 (70 of 100) or 2; both to 3; back to 0 (99); out.
        let blocks = vec![block(NONE); 4];
        let edges = [
            edge(NONE, 0, 0),
            edge(0, 1, NONE),
            edge(0, 2, NONE),
            edge(1, 3, NONE),
            edge(2, 3, 1),
            edge(3, 0, 2),
            edge(3, NONE, 3),
        ];
        let counters = [1, 30, 99, 1];
        let solution = solve(&blocks, &edges, |n| counters[n as usize]);
        assert_eq!(solution.blocks, [100, 70, 30, 100]);
        assert_eq!(solution.edges, [1, 70, 30, 70, 30, 99, 1]);
        assert_eq!(solution.imbalance, 0);
    }

    #[test]
    fn a_counted_block_tells_its_own_jump() {
        // In, to itself 9 times, out by falling through; the block is counted, its jump is not.
        let blocks = [block(1), block(NONE)];
        let edges = [edge(NONE, 0, 0), edge(0, 0, NONE), edge(0, 1, NONE), edge(1, NONE, 2)];
        let counters = [1, 10, 1];
        let solution = solve(&blocks, &edges, |n| counters[n as usize]);
        assert_eq!(solution.edges, [1, 9, 1, 1]);
        assert_eq!(solution.blocks, [10, 1]);
        assert_eq!(solution.imbalance, 0);
    }

    #[test]
    fn an_end_that_nobody_saw_shows_as_imbalance() {
        let blocks = [block(NONE)];
        let solution = solve(&blocks, &[edge(NONE, 0, 0)], |_| 1);
        assert_eq!(solution.imbalance, 1);
    }
}
