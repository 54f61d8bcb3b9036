//! Ways through code that are looked at as a whole: paths that were counted, and blocks that only follow each other.

use crate::exact::Exact;
use std::collections::HashMap;
use timewise_flow::{Analysis, RoutineId};
use timewise_profile::{BlockId, PathCount};

/// Blocks that were executed one after the other.
pub struct Way {
    /// In order; calls may lie between.
    pub blocks: Vec<BlockId>,
    /// How often, in all runs together.
    pub executions: u64,
}

/// The ways of each function.
pub struct Ways<'a> {
    paths: Vec<Vec<&'a PathCount>>,
    exact: &'a Exact,
    follower: HashMap<BlockId, BlockId>,
    is_followed: Vec<bool>,
}

impl<'a> Ways<'a> {
    /// Of all functions.
    pub fn new(analysis: &'a Analysis<'a>, exact: &'a Exact) -> Ways<'a> {
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
        Ways { paths, exact, follower, is_followed }
    }

    /// Whether paths of a function were counted.
    pub fn has_paths(&self, routine: RoutineId) -> bool {
        !self.paths[routine.index()].is_empty()
    }

    /// The counted paths of a function.
    pub fn paths(&self, routine: RoutineId) -> impl Iterator<Item = Way> {
        let way = |path: &&PathCount| Way { blocks: path.blocks.clone(), executions: path.executions };
        self.paths[routine.index()].iter().map(way)
    }

    /// The blocks of a function, each on the one way on which it always is.
    pub fn chains(&self, blocks: &[BlockId]) -> impl Iterator<Item = Way> {
        let begins = |block: &&BlockId| !self.is_followed[block.index()];
        blocks.iter().filter(begins).map(|&first| {
            let mut chain = vec![first];
            while let Some(&next) = chain.last().and_then(|last| self.follower.get(last)) {
                chain.push(next);
            }
            Way { blocks: chain, executions: self.exact.executions[first.index()] }
        })
    }
}

/// For each block behind which always the same one was executed, and which always came before that: that one.
///
/// Of blocks that several such lead to, or that lead to several, no count is right, and none is followed. So there are no
/// circles but those that nothing leads into.
fn followers(exact: &Exact) -> HashMap<BlockId, BlockId> {
    let always = |&(&(from, to), &count): &(&(BlockId, BlockId), &u64)| {
        from != to && [from, to].iter().all(|block| exact.executions[block.index()] == count)
    };
    let found: Vec<(BlockId, BlockId)> = exact.edges.iter().filter(always).map(|(&edge, _)| edge).collect();
    let (mut leaving, mut entering) = (HashMap::new(), HashMap::new());
    for (from, to) in &found {
        *leaving.entry(*from).or_insert(0) += 1;
        *entering.entry(*to).or_insert(0) += 1;
    }
    found.into_iter().filter(|(from, to)| leaving[from] == 1 && entering[to] == 1).collect()
}
