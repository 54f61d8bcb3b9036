//! How much of what was executed is on paths that are known. The rest is on paths that have no number: those over edges
//! that were left out, those for which a table had no room, those of functions whose paths are not counted.
//!
//! Nothing is stored of them. What a block executed beyond the paths that are known to go through it is on others.

use crate::Analysis;
use crate::code::ExecutedBlock;
use timewise_profile::BlockId;

/// Executed instructions, by how their paths are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Told {
    /// On paths that were counted.
    pub counted: f64,
    /// On paths that follow from edges, which are that many at most.
    pub by_edges: f64,
    /// On paths that are not told apart.
    pub untold: f64,
}

impl Told {
    /// All instructions.
    pub fn all(&self) -> f64 {
        self.counted + self.by_edges + self.untold
    }

    /// Instructions of several functions.
    pub fn sum<'a>(parts: impl IntoIterator<Item = &'a Told>) -> Told {
        parts.into_iter().fold(Told::default(), |sum, part| Told {
            counted: sum.counted + part.counted,
            by_edges: sum.by_edges + part.by_edges,
            untold: sum.untold + part.untold,
        })
    }
}

/// How often a block was executed on paths of each kind.
#[derive(Clone, Copy, Debug, Default)]
struct Executions {
    all: u64,
    counted: u64,
    by_edges: u64,
}

/// The paths of a program beside what it executed.
#[derive(Clone, Debug)]
pub struct Coverage<'a> {
    analysis: &'a Analysis<'a>,
    blocks: Vec<Executions>,
}

impl<'a> Coverage<'a> {
    /// Of all blocks. Where there are several runs, paths are those of all of them.
    pub fn new(analysis: &'a Analysis<'a>) -> Coverage<'a> {
        let runs = analysis.quality.counting_runs.max(1) as u64;
        let of_block = |block: &ExecutedBlock| Executions {
            all: block.executions.saturating_mul(runs),
            ..Executions::default()
        };
        let mut blocks: Vec<Executions> = analysis.code.blocks.iter().map(of_block).collect();
        for path in &analysis.profile.paths {
            for block in &path.blocks {
                let of = &mut blocks[block.index()];
                let known = if path.is_bound { &mut of.by_edges } else { &mut of.counted };
                *known = known.saturating_add(path.executions);
            }
        }
        Coverage { analysis, blocks }
    }

    /// How often a block was executed, but for paths that were counted.
    pub fn uncounted(&self, block: BlockId) -> u64 {
        let Executions { all, counted, .. } = self.blocks[block.index()];
        all.saturating_sub(counted)
    }

    /// The instructions of each function, by number. Where another run's paths are more than the run of the edges
    /// executed, all that is on them.
    pub fn by_function(&self) -> Vec<Told> {
        let mut functions = vec![Told::default(); self.analysis.routines.len()];
        let blocks = self.analysis.code.blocks.iter().zip(&self.blocks).zip(&self.analysis.owner);
        for ((block, &Executions { all, counted, by_edges }), owner) in blocks {
            let length = f64::from(block.length);
            let rest = all.saturating_sub(counted);
            let by_edges = by_edges.min(rest);
            let of = &mut functions[owner.index()];
            of.counted += counted as f64 * length;
            of.by_edges += by_edges as f64 * length;
            of.untold += (rest - by_edges) as f64 * length;
        }
        functions
    }
}
