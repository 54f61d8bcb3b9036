//! What paths tell that edges cannot: the way that a function nearly always goes, and branches that go as an
//! earlier one went.
//!
//! Only paths that were counted prove anything: where paths follow from edges, edges tell as much. And what was executed
//! beyond them may have gone any way, so each conclusion must hold whichever way that went.

use crate::Analysis;
use crate::RoutineId;
use crate::hash::NumberMap;
use crate::told::{Coverage, Told};
use std::collections::BTreeMap;
use timewise_profile::{BlockId, PathCount};

/// A conclusion needs at least this share of all instructions.
const LEAST_SHARE: f64 = 0.02;
/// A path that is nearly all of its function takes at least this share of its instructions.
const TRUNK_SHARE: f64 = 0.5;
/// A branch decides for itself if it goes its rarer ways at least this often,
const LEAST_CHOICE: f64 = 0.1;
/// and follows another if it goes otherwise than that one lets expect, or may have gone, at most this often.
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
    /// Share of all instructions, 0 to 1.
    pub share: f64,
}

/// A branch that goes as an earlier one on the same path went.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Follower {
    /// The block that ends with the earlier branch.
    pub first: BlockId,
    /// The block that ends with the one that follows it.
    pub second: BlockId,
    /// How often control went through both, as far as it was counted.
    pub executions: u64,
    /// How often the second went as it most often goes behind the way that the first went.
    pub as_expected: u64,
    /// Share of all instructions that are on paths with both, 0 to 1.
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
    let coverage = Coverage::new(analysis);
    let told = coverage.by_function();
    let all = Told::sum(&told).all();
    let mut functions: BTreeMap<RoutineId, Vec<usize>> = BTreeMap::new();
    for (number, path) in analysis.profile.paths.iter().enumerate() {
        if let Some(first) = path.blocks.first() {
            functions.entry(analysis.owner[first.index()]).or_default().push(number);
        }
    }
    let mut found = Correlations::default();
    for (routine, numbers) in functions {
        let told = told[routine.index()];
        if told.counted >= LEAST_SHARE * all {
            let function = Function::new(analysis, &coverage, &numbers, told.all());
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
    coverage: &'a Coverage<'a>,
    /// The numbers, blocks and instructions of those that were counted.
    counted: Vec<(usize, &'a PathCount, f64)>,
    /// How many ways control went from each block.
    ways: NumberMap<BlockId, Vec<Way>>,
    /// All that it executed.
    instructions: f64,
}

impl<'a> Function<'a> {
    fn new(
        analysis: &Analysis<'a>,
        coverage: &'a Coverage<'a>,
        numbers: &[usize],
        instructions: f64,
    ) -> Function<'a> {
        let paths = || numbers.iter().map(|&number| (number, &analysis.profile.paths[number]));
        let mut ways: NumberMap<BlockId, Vec<Way>> = NumberMap::default();
        for (block, way) in paths().flat_map(|(_, path)| steps(path)) {
            let known = ways.entry(block).or_default();
            if !known.contains(&way) {
                known.push(way);
            }
        }
        let counted = paths().filter(|(_, path)| !path.is_bound);
        let counted = counted.map(|(number, path)| (number, path, self::instructions(analysis, path)));
        Function { coverage, counted: counted.collect(), ways, instructions }
    }

    fn is_branch(&self, block: BlockId) -> bool {
        self.ways.get(&block).is_some_and(|ways| ways.len() > 1)
    }

    /// The path that is most of it.
    fn trunk(&self, all: f64) -> Option<Trunk> {
        let &(path, of, executed) = self.counted.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
        let branches = of.blocks.iter().filter(|&&block| self.is_branch(block)).count();
        let (share_of_function, share) = (executed / self.instructions, executed / all);
        let is_one = share_of_function >= TRUNK_SHARE && share >= LEAST_SHARE && branches > 1;
        is_one.then_some(Trunk { path, branches, share_of_function, share })
    }

    /// Branches that follow others: each the one that it follows best, the nearest of several as good.
    fn followers(&self, all: f64) -> Vec<Follower> {
        let mut pairs: BTreeMap<(BlockId, BlockId), Pair> = BTreeMap::new();
        for (_, path, executed) in &self.counted {
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
            let elsewhere = self.coverage.uncounted(first).min(self.coverage.uncounted(second));
            let Some((executions, as_expected)) = pair.follows(elsewhere) else { continue };
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
    /// goes its own ways, or nearly always the same, or might do so on paths that were not counted: through both, at
    /// most `elsewhere` times.
    fn follows(&self, elsewhere: u64) -> Option<(u64, u64)> {
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
        let part = |count: u64| (count as f64) / (executions.max(1) as f64 + elsewhere as f64);
        let follows = part((executions - as_expected).saturating_add(elsewhere)) <= MOST_EXCEPTIONS;
        (follows && part(executions - usual) >= LEAST_CHOICE).then_some((executions, as_expected))
    }
}
