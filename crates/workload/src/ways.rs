//! Ways through code that are looked at as a whole: paths that were counted, and blocks that only follow each other.

use crate::exact::Exact;
use std::collections::HashMap;
use timewise_flow::{Analysis, Code, RoutineId};
use timewise_profile::{BlockId, PathCount};

/// Blocks that were executed one after the other.
pub struct Way {
    /// In order; calls may lie between.
    pub blocks: Vec<BlockId>,
    /// How often, in one run.
    pub executions: u64,
}

/// The ways of each function.
pub struct Ways<'a> {
    paths: Vec<Vec<&'a PathCount>>,
    runs: u64,
    follower: HashMap<BlockId, BlockId>,
    is_followed: Vec<bool>,
}

impl<'a> Ways<'a> {
    /// Of all functions.
    pub fn new(analysis: &'a Analysis<'a>, exact: &Exact) -> Ways<'a> {
        let mut paths = vec![Vec::new(); analysis.routines.len()];
        for path in analysis.profile.paths.iter().filter(|path| !path.is_bound && path.executions > 0) {
            let first = path.blocks.first();
            if let Some(first) = first {
                paths[analysis.owner[first.index()].index()].push(path);
            }
        }
        let follower = followers(exact);
        let mut is_followed = vec![false; analysis.code.blocks.len()];
        follower.values().for_each(|to| is_followed[to.index()] = true);
        Ways { paths, runs: analysis.quality.counting_runs.max(1) as u64, follower, is_followed }
    }

    /// Whether paths of a function were counted.
    pub fn has_paths(&self, routine: RoutineId) -> bool {
        !self.paths[routine.index()].is_empty()
    }

    /// The counted paths of a function.
    pub fn paths(&self, routine: RoutineId) -> impl Iterator<Item = Way> {
        self.paths[routine.index()]
            .iter()
            .map(|path| Way { blocks: path.blocks.clone(), executions: path.executions / self.runs })
            .filter(|way| way.executions > 0)
    }

    /// The blocks of a function, each on the one way on which it always is.
    pub fn chains(&self, code: &Code, blocks: &[BlockId]) -> impl Iterator<Item = Way> {
        let begins = |block: &&BlockId| !self.is_followed[block.index()];
        blocks.iter().filter(begins).map(|&first| {
            let mut chain = vec![first];
            while let Some(&next) = chain.last().and_then(|last| self.follower.get(last)) {
                chain.push(next);
            }
            Way { blocks: chain, executions: code.blocks[first.index()].executions }
        })
    }
}

/// For each block behind which always the same one was executed, and which always came before that: that one. There are
/// no circles: what goes round was entered somewhere.
fn followers(exact: &Exact) -> HashMap<BlockId, BlockId> {
    let always = |&(&(from, to), &count): &(&(BlockId, BlockId), &u64)| {
        from != to && [from, to].iter().all(|block| exact.executions[block.index()] == count)
    };
    exact.edges.iter().filter(always).map(|(&edge, _)| edge).collect()
}
