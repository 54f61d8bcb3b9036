//! Where threads were when they were stopped from outside: nobody saw it, but the counts tell something.
//!
//! The flow of such a thread ends at an unknown point of a tree of edges without counters. Solved as if it
//! ended at the tree's last point, edges on the way from there to the true point come out one too high or
//! too low, some of them below zero. Among the points that make none of them negative, the thread is taken
//! to have been where the program was most often.

use crate::solve::{Equations, Point, Solution};
use std::collections::HashMap;

/// Places the ends of up to `limit` threads, and makes the solution agree with them; the points are taken
/// off its remainders.
pub fn place(equations: &Equations, solution: &mut Solution, limit: usize) -> Vec<Point> {
    let surplus = solution.remainders.iter().map(|remainder| remainder.surplus.max(0) as u64);
    let missing = surplus.fold(0, u64::saturating_add).min(limit as u64) as usize;
    if missing == 0 {
        return Vec::new();
    }
    let tree = Tree::new(equations);
    let mut places = Vec::new();
    for remainder in &mut solution.remainders {
        while remainder.surplus > 0 && places.len() < missing {
            remainder.surplus -= 1;
            places.push(tree.move_to_best(remainder.at, &mut solution.edges));
        }
    }
    solution.remainders.retain(|remainder| remainder.surplus != 0);
    places
}

/// Edges without counters, by the points that they join.
struct Tree {
    /// Point, edge, other point, and whether the edge leaves the first; in order of point.
    sides: Vec<(Point, u32, Point, bool)>,
}

/// How a point was reached from the one that the search began at.
#[derive(Clone, Copy)]
struct Step {
    before: Point,
    edge: u32,
    forwards: bool,
}

impl Tree {
    fn new(equations: &Equations) -> Tree {
        let both = |(edge, from, to)| [(from, edge, to, true), (to, edge, from, false)];
        let mut sides: Vec<_> = equations.uncounted().flat_map(both).collect();
        sides.sort_unstable_by_key(|side| side.0);
        Tree { sides }
    }

    fn at(&self, point: Point) -> &[(Point, u32, Point, bool)] {
        let start = self.sides.partition_point(|side| side.0 < point);
        let length = self.sides[start..].partition_point(|side| side.0 == point);
        &self.sides[start..start + length]
    }

    /// Moves the end of one thread's flow from `start` to the best point: one more along each edge on the
    /// way, one less against it.
    fn move_to_best(&self, start: Point, edges: &mut [i64]) -> Point {
        let mut steps: HashMap<Point, Step> = HashMap::new();
        let mut best = (0, self.traffic(start, edges), start);
        let mut open = vec![(start, 0)];
        while let Some((point, gain)) = open.pop() {
            for &(_, edge, other, forwards) in self.at(point) {
                if other == start || steps.contains_key(&other) {
                    continue;
                }
                // Towards `other`, an edge below zero is mended; one at zero must not be taken from.
                let value = edges[edge as usize];
                let gain = gain + i64::from(forwards && value < 0) - i64::from(!forwards && value <= 0);
                steps.insert(other, Step { before: point, edge, forwards });
                open.push((other, gain));
                let candidate = (gain, self.traffic(other, edges), other);
                best = best.max(candidate);
            }
        }
        let (_, _, place) = best;
        let mut at = place;
        while let Some(step) = steps.get(&at) {
            let count = &mut edges[step.edge as usize];
            *count = count.wrapping_add(if step.forwards { 1 } else { -1 });
            at = step.before;
        }
        place
    }

    /// How often the program was at a point, by the most taken of its edges here.
    fn traffic(&self, point: Point, edges: &[i64]) -> i64 {
        self.at(point).iter().map(|side| edges[side.1 as usize]).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::sample::{block, edge};
    use timewise_abi::NONE;

    /// 0, a loop of 1, then 2: whatever the solver takes as the last point, a thread that was stopped in
    /// the loop must not have taken the edge behind it, and one that was stopped behind must.
    #[test]
    fn counts_stay_possible() {
        let blocks = [block(NONE), block(1), block(NONE), block(NONE)];
        let edges = [
            edge(NONE, 0, 0),
            edge(0, 1, NONE),
            edge(1, 1, NONE),
            edge(1, 2, NONE),
            edge(2, 3, NONE),
            edge(3, 0, 2),
        ];
        // Entered once; the loop went round 100 times; the way back from 3 to 0 was taken twice.
        let counters = [1u64, 100, 2];
        let equations = Equations::new(&blocks, &edges);
        let mut solution = equations.solve(|n| counters[n as usize], &[]);
        let places = place(&equations, &mut solution, 1);
        assert_eq!(places.len(), 1);
        assert_eq!(solution.remainders, []);
        assert!(solution.edges.iter().all(|&count| count >= 0), "{:?}", solution.edges);
        assert_eq!(places[0].block(), 1, "the most executed");
        assert_eq!(
            solution.edges,
            [1, 3, 97, 2, 2, 2],
            "the loop was entered 3 times, and 97 times by itself"
        );
    }
}
