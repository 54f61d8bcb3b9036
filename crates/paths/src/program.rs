//! The routines of a program as graphs that paths run through, from an edge profile.

use crate::cfg::Cfg;
use crate::transition::{Blocks, Transition};
use std::collections::HashMap;
use timewise_flow::{Analysis, RoutineId};
use timewise_profile::{BlockId, EdgeKind};

/// All routines of a program.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// Its blocks.
    pub blocks: Blocks<'a>,
    /// The graph of each routine, whose blocks are in the order of [`timewise_flow::Routine::blocks`].
    pub graphs: Vec<Cfg>,
    /// Of each block, its number in its routine's graph.
    local: Vec<u32>,
}

impl<'a> Program<'a> {
    /// From counts of edges. Calls lead on to where they return; where control comes to a routine in any other way
    /// than within it, a path begins, and where it leaves it or does not come back from a call, a path ends.
    pub fn new(analysis: &'a Analysis) -> Program<'a> {
        let blocks = Blocks { code: &analysis.code, routines: &analysis.routines, owner: &analysis.owner };
        let mut local = vec![0; analysis.code.blocks.len()];
        for routine in &analysis.routines {
            for (number, block) in routine.blocks.iter().enumerate() {
                local[block.index()] = number as u32;
            }
        }
        let mut within: Vec<HashMap<(u32, u32), u64>> = vec![HashMap::new(); analysis.routines.len()];
        for edge in
            analysis.code.edges.iter().filter(|edge| edge.count > 0 && edge.kind != EdgeKind::External)
        {
            let (Some(from), Some(to)) = (edge.from, edge.to) else { continue };
            if let Transition::Within(from) = blocks.transition(from, to, edge.kind) {
                let ends = (local[from.index()], local[to.index()]);
                *within[blocks.owner(to).index()].entry(ends).or_default() += edge.count;
            }
        }
        let graph = |(routine, within): (&timewise_flow::Routine, HashMap<(u32, u32), u64>)| {
            let executions: Vec<u64> =
                routine.blocks.iter().map(|block| analysis.code.blocks[block.index()].executions).collect();
            graph(&executions, within)
        };
        let graphs = analysis.routines.iter().zip(within).map(graph).collect();
        Program { blocks, graphs, local }
    }

    /// A block's number in its routine's graph.
    pub fn local(&self, block: BlockId) -> u32 {
        self.local[block.index()]
    }

    /// The block of a number in a routine's graph.
    pub fn block(&self, routine: RoutineId, number: u32) -> BlockId {
        self.blocks.routines[routine.index()].blocks[number as usize]
    }

    /// The share of all instructions that some routines' are.
    pub fn share(&self, routines: impl Iterator<Item = RoutineId>) -> f64 {
        let code = self.blocks.code;
        let of_block = |id: &BlockId| {
            let block = &code.blocks[id.index()];
            block.executions as f64 * f64::from(block.length)
        };
        let blocks = routines.flat_map(|routine| &self.blocks.routines[routine.index()].blocks);
        blocks.map(of_block).sum::<f64>() / (code.instructions_executed() as f64).max(1.0)
    }

    /// The blocks of several.
    pub fn blocks_of(&self, routine: RoutineId, numbers: &[u32]) -> Vec<BlockId> {
        numbers.iter().map(|&number| self.block(routine, number)).collect()
    }
}

/// A routine's graph. What comes to a block and does not come from within comes from outside, and likewise what
/// leaves it.
fn graph(executions: &[u64], within: HashMap<(u32, u32), u64>) -> Cfg {
    let mut sorted: Vec<((u32, u32), u64)> = within.into_iter().collect();
    sorted.sort_unstable();
    let mut arrived = vec![0u64; executions.len()];
    let mut left = vec![0u64; executions.len()];
    for ((from, to), count) in &mut sorted {
        // A call can return more often than it was made: by a long jump.
        let room = executions[*from as usize].saturating_sub(left[*from as usize]);
        *count = (*count).min(room);
        left[*from as usize] += *count;
        arrived[*to as usize] = arrived[*to as usize].saturating_add(*count);
    }
    let inner = sorted.into_iter().filter(|(_, count)| *count > 0);
    let inner = inner.map(|((from, to), count)| (Some(from), Some(to), count));
    let numbered = || (0..executions.len() as u32).zip(executions);
    let entered =
        numbered().map(|(block, all)| (None, Some(block), all.saturating_sub(arrived[block as usize])));
    let left = numbered().map(|(block, all)| (Some(block), None, all.saturating_sub(left[block as usize])));
    let outer = entered.chain(left).filter(|(_, _, count)| *count > 0);
    Cfg::new(executions.len() as u32, outer.chain(inner))
}
