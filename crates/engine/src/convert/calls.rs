//! What calls cost: the instructions executed between each call and its return.
//!
//! The runtime keeps, for each call site, the sum of the thread's clock at its calls, and for each pair of a
//! return and where it leads the sum at those returns. With the lead of each point over the clock
//! (`timewise_runtime::clock`) these are sums of executed instructions, and the difference of the two is what
//! all calls of a site cost together: no stack is kept. Calls that have not returned when their thread
//! ends are open until then. All arithmetic is modulo 2⁶⁴.

use crate::harvest::Area;
use crate::solve::{Equations, Point};
use std::collections::HashMap;
use timewise_abi::NONE;
use timewise_abi::log::{BlockRecord, EdgeRecord, edge_kind};
use timewise_profile::Place;

/// What the calls of a site cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Instructions executed in callees, and in theirs.
    pub instructions: u64,
    /// Calls.
    pub calls: i64,
    /// Returns to behind the call.
    pub returns: i64,
}

/// Leads of points over the clock; outside is 0.
struct Leads {
    points: Vec<i64>,
}

impl Leads {
    /// Follows all ways that control may have taken, from outside.
    fn new(blocks: &[BlockRecord], edges: &[EdgeRecord]) -> Leads {
        let outside = 2 * blocks.len();
        // Ways in both directions: to a point, whose lead is more by so much.
        let mut ways: Vec<Vec<(usize, i64)>> = vec![Vec::new(); outside + 1];
        let mut way = |from: usize, to: usize, more: i64| {
            ways[from].push((to, more));
            ways[to].push((from, -more));
        };
        for (number, block) in blocks.iter().enumerate() {
            // One that counts itself moves the clock by all of its instructions.
            let more = if block.counter == NONE { i64::from(block.instructions) } else { 0 };
            way(2 * number, 2 * number + 1, more);
        }
        for edge in edges {
            let (from, ahead) = left(blocks, edge).unwrap_or((outside, 0));
            let to = if edge.to == NONE { outside } else { 2 * edge.to as usize };
            way(from, to, ahead - i64::from(edge.step));
        }
        let mut points = vec![None; outside + 1];
        for start in std::iter::once(outside).chain(0..outside) {
            if points[start].is_some() {
                continue;
            }
            points[start] = Some(0);
            let mut open = vec![start];
            while let Some(point) = open.pop() {
                let lead = points[point].unwrap_or(0);
                for &(next, more) in &ways[point] {
                    if points[next].is_none() {
                        points[next] = Some(lead + more);
                        open.push(next);
                    }
                }
            }
        }
        Leads { points: points.into_iter().map(|lead| lead.unwrap_or(0)).collect() }
    }

    /// At the end of a block.
    fn end(&self, block: u32) -> i64 {
        self.points[2 * block as usize + 1]
    }
}

/// The point at which an edge leaves its block, and how many instructions further it is.
fn left(blocks: &[BlockRecord], edge: &EdgeRecord) -> Option<(usize, i64)> {
    let block = blocks.get(edge.from as usize)?;
    let executed = i64::from(edge.executed);
    let start = 2 * edge.from as usize;
    Some(match block.counter != NONE && edge.executed < block.counter_at {
        true => (start, executed),
        false => (start + 1, executed - i64::from(block.instructions)),
    })
}

/// What is known of the code of a process image.
pub struct Code<'a> {
    /// Its blocks.
    pub blocks: &'a [BlockRecord],
    /// Ways between them.
    pub edges: &'a [EdgeRecord],
    /// Where each block starts, and where it ends.
    pub places: &'a [[Place; 2]],
}

/// What calls cost in one process image, by the place that they return to.
pub fn costs(code: &Code, equations: &Equations, areas: &[Area]) -> HashMap<Place, Cost> {
    let mut costs: HashMap<Place, Cost> = HashMap::new();
    if code.blocks.iter().all(|block| block.calls == NONE) {
        return costs;
    }
    let leads = Leads::new(code.blocks, code.edges);
    for area in areas {
        for (place, cost) in of_thread(code, equations, &leads, area) {
            let sum = costs.entry(place).or_default();
            sum.instructions = sum.instructions.wrapping_add(cost.instructions);
            sum.calls += cost.calls;
            sum.returns += cost.returns;
        }
    }
    costs
}

fn of_thread(code: &Code, equations: &Equations, leads: &Leads, area: &Area) -> HashMap<Place, Cost> {
    let mut costs: HashMap<Place, Cost> = HashMap::new();
    let values: HashMap<u32, u64> = area.counters.iter().copied().collect();
    let value = |counter: u32| values.get(&counter).copied().unwrap_or(0);
    let rest = area.in_system_call().filter(|&block| (block as usize) < code.blocks.len());
    let rests: Vec<Point> = rest
        .iter()
        .map(|&block| Point::left(block, code.blocks[block as usize].instructions, code.blocks))
        .collect();
    let taken = equations.solve(value, &rests).edges;
    for (block, places) in code.blocks.iter().zip(code.places).filter(|(block, _)| block.calls != NONE) {
        let cost = costs.entry(places[1]).or_default();
        cost.instructions = cost.instructions.wrapping_sub(value(block.calls));
    }
    for (edge, &times) in code.edges.iter().zip(&taken) {
        let at_end = || leads.end(edge.from).wrapping_mul(times) as u64;
        match edge.kind {
            edge_kind::CALL | edge_kind::INDIRECT_CALL => {
                let cost = costs.entry(code.places[edge.from as usize][1]).or_default();
                cost.instructions = cost.instructions.wrapping_sub(at_end());
                cost.calls += times;
            }
            edge_kind::RETURN if edge.to != NONE => {
                let cost = costs.entry(code.places[edge.to as usize][0]).or_default();
                cost.instructions = cost.instructions.wrapping_add(value(edge.returns)).wrapping_add(at_end());
                cost.returns += times;
            }
            _ => {}
        }
    }
    let end = area.clock.wrapping_add_signed(rest.map_or(0, |block| leads.end(block)));
    for cost in costs.values_mut() {
        let open = (cost.calls - cost.returns).max(0) as u64;
        cost.instructions = cost.instructions.wrapping_add(end.wrapping_mul(open));
    }
    costs.retain(|_, cost| cost.calls > 0);
    costs
}
