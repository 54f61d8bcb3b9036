//! What paths tell that edges cannot: the way that a function nearly always goes, and branches that go as an
//! earlier one went.
//!
//! Only functions whose paths were counted take part: where paths follow from edges, edges tell as much.

use crate::Analysis;
use crate::RoutineId;
use crate::hash::NumberMap;
use std::collections::BTreeMap;
use timewise_profile::{BlockId, PathCount};

/// A conclusion needs at least this share of the instructions on all paths.
const LEAST_SHARE: f64 = 0.02;
/// As much of a function's instructions may be on paths that were not counted.
const MOST_BOUND: f64 = 0.01;
/// A path that is nearly all of its function takes at least this share of its instructions.
const TRUNK_SHARE: f64 = 0.5;
/// A branch decides for itself if it goes its rarer ways at least this often,
const LEAST_CHOICE: f64 = 0.1;
/// and follows another if it goes otherwise than that one lets expect at most this often.
const MOST_EXCEPTIONS: f64 = 0.01;
/// How many branches ahead one is looked for that follows.
const AHEAD: usize = 8;

/// A path that is most of its function, with branches on it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trunk {
    /// Its number among the profile's paths.
    pub path: usize,
    /// Blocks on it from which control went other ways, too.
    pub branches: usize,
    /// Share of the function's instructions, 0 to 1.
    pub share_of_function: f64,
    /// Share of the instructions on all paths, 0 to 1.
    pub share: f64,
}

/// A branch that goes as an earlier one on the same path went.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Follower {
    /// The block that ends with the earlier branch.
    pub first: BlockId,
    /// The block that ends with the one that follows it.
    pub second: BlockId,
    /// How often control went through both.
    pub executions: u64,
    /// How often the second went as it most often goes behind the way that the first went.
    pub as_expected: u64,
    /// Share of the instructions on all paths that are on paths with both, 0 to 1.
    pub share: f64,
}

/// All that paths tell, the largest shares first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Correlations {
    /// Paths that are most of their function.
    pub trunks: Vec<Trunk>,
    /// Branches that follow others.
    pub followers: Vec<Follower>,
}

/// Draws the conclusions.
pub fn correlations(analysis: &Analysis) -> Correlations {
    let mut functions: BTreeMap<RoutineId, Vec<usize>> = BTreeMap::new();
    let mut all = 0.0;
    for (number, path) in analysis.profile.paths.iter().enumerate() {
        if let Some(first) = path.blocks.first() {
            all += instructions(analysis, path);
            functions.entry(analysis.owner[first.index()]).or_default().push(number);
        }
    }
    let mut found = Correlations::default();
    for numbers in functions.values() {
        let function = Function::new(analysis, numbers);
        if function.instructions >= LEAST_SHARE * all && function.bound <= MOST_BOUND * function.instructions
        {
            found.trunks.extend(function.trunk(all));
            found.followers.extend(function.followers(all));
        }
    }
    found.trunks.sort_by(|a, b| b.share.total_cmp(&a.share));
    found.followers.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}

/// Instructions that were executed on a path.
fn instructions(analysis: &Analysis, path: &PathCount) -> f64 {
    let length = |block: &BlockId| f64::from(analysis.code.blocks[block.index()].length);
    path.executions as f64 * path.blocks.iter().map(length).sum::<f64>()
}

/// Where control went from a block; `None` where the path ended.
type Way = Option<BlockId>;

/// The paths of a function.
struct Function<'a> {
    /// Their numbers, blocks and instructions.
    paths: Vec<(usize, &'a PathCount, f64)>,
    /// How many ways control went from each block.
    ways: NumberMap<BlockId, Vec<Way>>,
    instructions: f64,
    /// Instructions on paths that were not counted.
    bound: f64,
}

impl<'a> Function<'a> {
    fn new(analysis: &Analysis<'a>, numbers: &[usize]) -> Function<'a> {
        let of = |&number: &usize| {
            let path = &analysis.profile.paths[number];
            (number, path, instructions(analysis, path))
        };
        let paths: Vec<_> = numbers.iter().map(of).collect();
        let mut ways: NumberMap<BlockId, Vec<Way>> = NumberMap::default();
        for (block, way) in paths.iter().flat_map(|(_, path, _)| steps(path)) {
            let known = ways.entry(block).or_default();
            if !known.contains(&way) {
                known.push(way);
            }
        }
        let sum = |bound_alone: bool| {
            let counts = |path: &PathCount| path.is_bound || !bound_alone;
            paths.iter().filter(|(_, path, _)| counts(path)).map(|(_, _, executed)| executed).sum()
        };
        Function { ways, instructions: sum(false), bound: sum(true), paths }
    }

    fn is_branch(&self, block: BlockId) -> bool {
        self.ways.get(&block).is_some_and(|ways| ways.len() > 1)
    }

    /// The path that is most of it.
    fn trunk(&self, all: f64) -> Option<Trunk> {
        let &(path, of, executed) = self.paths.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
        let branches = of.blocks.iter().filter(|&&block| self.is_branch(block)).count();
        let (share_of_function, share) = (executed / self.instructions, executed / all);
        let is_one = share_of_function >= TRUNK_SHARE && share >= LEAST_SHARE && branches > 1;
        is_one.then_some(Trunk { path, branches, share_of_function, share })
    }

    /// Branches that follow others: each the one that it follows best, the nearest of several as good.
    fn followers(&self, all: f64) -> Vec<Follower> {
        let mut pairs: BTreeMap<(BlockId, BlockId), Pair> = BTreeMap::new();
        for (_, path, executed) in &self.paths {
            let branches: Vec<_> = steps(path).filter(|(block, _)| self.is_branch(*block)).collect();
            for (at, (first, way)) in branches.iter().enumerate() {
                for (distance, (second, then)) in branches[at + 1..].iter().take(AHEAD).enumerate() {
                    let pair = pairs.entry((*second, *first)).or_default();
                    pair.instructions += executed;
                    pair.distance = pair.distance.max(distance);
                    let count = pair.ways.entry((*way, *then)).or_default();
                    *count = count.saturating_add(path.executions);
                }
            }
        }
        let mut best: BTreeMap<BlockId, (u64, usize, Follower)> = BTreeMap::new();
        for ((second, first), pair) in pairs {
            let Some((executions, as_expected)) = pair.follows() else { continue };
            let share = pair.instructions / all;
            let rank = (executions - as_expected, pair.distance);
            let is_better = best.get(&second).is_none_or(|known| rank < (known.0, known.1));
            if share >= LEAST_SHARE && is_better {
                let follower = Follower { first, second, executions, as_expected, share };
                best.insert(second, (rank.0, rank.1, follower));
            }
        }
        best.into_values().map(|(_, _, follower)| follower).collect()
    }
}

/// The blocks of a path, each with where control went from it.
fn steps(path: &PathCount) -> impl Iterator<Item = (BlockId, Way)> {
    let next = path.blocks.iter().skip(1).copied().map(Some).chain([None]);
    path.blocks.iter().copied().zip(next)
}

/// Two branches on the same paths.
#[derive(Default)]
struct Pair {
    /// How often the first went one way and the second another.
    ways: BTreeMap<(Way, Way), u64>,
    instructions: f64,
    /// Branches between them.
    distance: usize,
}

impl Pair {
    /// How often control went through both, and how often the second went as the first lets expect; `None` if it
    /// goes its own ways, or nearly always the same.
    fn follows(&self) -> Option<(u64, u64)> {
        let (mut of_second, mut of_first): (BTreeMap<Way, u64>, BTreeMap<Way, u64>) = Default::default();
        for ((way, then), count) in &self.ways {
            let second = of_second.entry(*then).or_default();
            *second = second.saturating_add(*count);
            let expected = of_first.entry(*way).or_default();
            *expected = (*expected).max(*count);
        }
        let executions = self.ways.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        let as_expected = of_first.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        let usual = of_second.values().copied().max()?;
        let part = |count: u64| count as f64 / executions.max(1) as f64;
        let follows = part(executions - as_expected) <= MOST_EXCEPTIONS;
        (follows && part(executions - usual) >= LEAST_CHOICE).then_some((executions, as_expected))
    }
}
